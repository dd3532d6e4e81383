package perfdata

// unpacker decompresses the records of a recording in pieces into a buffer. The last record in the
// buffer may be incomplete until the next payload.
type unpacker struct {
	z    *inflater
	open bool    // a COMPRESSED record is not used up
	in   []byte  // its payload
	buf  *buffer // output
	at   int     // start of the incomplete record in buf
}

// begin starts with the payload of a compressed record.
func (p *unpacker) begin(b []byte) {
	if p.z == nil {
		p.z = newInflater()
	}
	// The payload is copied, since its buffer may be reused before it is used
	// up.
	p.in = append(p.in[:0], b...)
	p.z.feed(p.in)
	p.open = true
}

// add appends output to the buffer; new buffers come from pool.
func (p *unpacker) add(b []byte, pool *pool) {
	if p.buf == nil || cap(p.buf.b)-len(p.buf.b) < len(b) {
		next := pool.get(len(b))
		if p.buf != nil {
			next.b = append(next.b, p.rest()...)
			pool.unref(p.buf)
		}
		p.buf, p.at = next, 0
	}
	p.buf.b = append(p.buf.b, b...)
}

// rest returns the output that is not used so far.
func (p *unpacker) rest() []byte { return p.buf.b[p.at:len(p.buf.b):len(p.buf.b)] }

// within reports that the output ends within a record.
func (p *unpacker) within() bool { return p.buf != nil && p.at < len(p.buf.b) }

// next starts another stream: each file of a directory has its own.
func (p *unpacker) next() {
	p.close()
	p.z = nil
	if p.buf != nil {
		p.at = len(p.buf.b)
	}
}

func (p *unpacker) close() {
	if p.z != nil {
		p.z.close()
	}
}
