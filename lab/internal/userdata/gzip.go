package userdata

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// sizeLimit bounds what compressed data may grow to (bytes).
const sizeLimit = 16 << 20

// Gunzip unpacks data, up to 16 MiB.
func Gunzip(data []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(reader, sizeLimit+1))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	if len(plain) > sizeLimit {
		return nil, errors.New("decompress: more than 16 MiB")
	}
	return plain, nil
}
