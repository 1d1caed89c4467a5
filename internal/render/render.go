package render

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"

	"k8s.io/utils/ptr"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// Bootstrap returns the bootstrap data of one machine. Errors name the field at fault and hold no secret.
func Bootstrap(in Input) (Output, error) {
	if err := in.check(); err != nil {
		return Output{}, err
	}
	out, err := document(&in)
	if err != nil {
		return Output{}, err
	}
	if err := checkSize(&in, out.Data); err != nil {
		return Output{}, err
	}
	out.Warnings = append(warnings(&in), out.Warnings...)
	return out, nil
}

// document returns the bootstrap data in the format that is asked for.
func document(in *Input) (Output, error) {
	format := in.Config.AgentConfig.Format
	if err := checkFormat(format); err != nil {
		return Output{}, err
	}
	if format == bootstrapv1.Ignition {
		data, found, err := ignitionConfig(in)
		return Output{Data: data, Format: format, Warnings: found}, err
	}
	data, err := cloudConfig(in)
	if err == nil && ptr.Deref(in.Config.GzipUserData, false) {
		data, err = compress(data)
	}
	return Output{Data: data, Format: bootstrapv1.CloudConfig}, err
}

// check makes sure that the caller gave what the role needs, and nothing that must not reach it.
func (in *Input) check() error {
	switch in.Role {
	case FirstServer:
		if in.CAs == nil {
			return errors.New("the first server needs the certificate authorities")
		}
		if in.JoinAddress != "" {
			return errors.New("the first server joins no other server")
		}
	case JoiningServer, Worker:
		if in.CAs != nil {
			return errors.New("only the first server gets certificate authorities")
		}
		if in.JoinAddress == "" {
			return errors.New("a joining node needs the address of a server")
		}
	default:
		return fmt.Errorf("%s", in.Role)
	}
	if in.Token == "" {
		return errors.New("the token is empty")
	}
	if in.Role == Worker && in.AgentToken != "" {
		return errors.New("a worker gets its own token only")
	}
	if in.Version.IsZero() {
		return errors.New("the version is empty")
	}
	return nil
}

// compress makes a gzip stream without a time stamp, so that the same data give the same bytes.
func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress the bootstrap data: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("compress the bootstrap data: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress the bootstrap data: %w", err)
	}
	return b.Bytes(), nil
}
