package perfdata

// A packed is the compressed records of a recording on their way to records: a
// payload is decompressed piece by piece into a buffer, in which the last record
// may be incomplete until the next payload.
type packed struct {
	z    *inflater
	open bool    // a COMPRESSED record is not used up
	in   []byte  // its payload
	buf  *buffer // output
	at   int     // start of the incomplete record in buf
}

// begin takes the payload of a compressed record.
func (p *packed) begin(b []byte) {
	if p.z == nil {
		p.z = newInflater()
	}
	// The payload must outlive its buffer if the pipe reads on.
	p.in = append(p.in[:0], b...)
	p.z.feed(p.in)
	p.open = true
}

// add appends output; buffers are of pool.
func (p *packed) add(b []byte, pool *pool) {
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

// rest is the output that is not used yet.
func (p *packed) rest() []byte { return p.buf.b[p.at:len(p.buf.b):len(p.buf.b)] }

// within reports that the output ends within a record.
func (p *packed) within() bool { return p.buf != nil && p.at < len(p.buf.b) }

// next begins with another stream: each file of a directory has its own.
func (p *packed) next() {
	p.close()
	p.z = nil
	if p.buf != nil {
		p.at = len(p.buf.b)
	}
}

func (p *packed) close() {
	if p.z != nil {
		p.z.close()
	}
}
