package tracedat

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// An unzipper decompresses pieces that were compressed separately.
type unzipper struct {
	z    *zstd.Decoder
	zlib io.ReadCloser
}

// newUnzipper returns an unzipper for pieces of at most limit bytes when
// decompressed.
func newUnzipper(algorithm string, limit uint64) (*unzipper, error) {
	switch algorithm {
	case "zstd":
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(limit))
		return &unzipper{z: z}, err
	case "zlib":
		return &unzipper{}, nil
	case "":
		return nil, errors.New("a part is compressed, and the head says that none is")
	}
	return nil, fmt.Errorf("compression %q is neither zstd nor zlib: %w", algorithm, ErrForeign)
}

// unzip decompresses data to size bytes, into dst if it is large enough. The
// memory grows with the decompressed bytes, since a damaged size may be too
// large.
func (u *unzipper) unzip(dst, data []byte, size int) ([]byte, error) {
	out := dst[:0]
	var err error
	if u.z != nil {
		out, err = u.z.DecodeAll(data, out)
	} else {
		out, err = u.inflate(out, data, size)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("compressed bytes: %w", err)
	case len(out) != size:
		return nil, fmt.Errorf("compressed bytes: got %d, want %d", len(out), size)
	}
	return out, nil
}

func (u *unzipper) inflate(out, data []byte, size int) ([]byte, error) {
	var err error
	if u.zlib == nil {
		u.zlib, err = zlib.NewReader(bytes.NewReader(data))
	} else {
		err = u.zlib.(zlib.Resetter).Reset(bytes.NewReader(data), nil)
	}
	if err != nil {
		return nil, err
	}
	w := bytes.NewBuffer(out)
	_, err = io.Copy(w, io.LimitReader(u.zlib, int64(size)+1))
	return w.Bytes(), err
}

func (u *unzipper) close() {
	if u.z != nil {
		u.z.Close()
	}
}
