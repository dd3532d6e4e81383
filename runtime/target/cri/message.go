package cri

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// This file reads the messages; the numbers of members are as in api.proto of
// k8s.io/cri-api. All other members are skipped.

var errDamaged = errors.New("the answer is damaged")

// Members of ListPodSandboxResponse, PodSandbox and PodSandboxMetadata.
const (
	responseItems     = 1 // also of ListContainersResponse
	podID             = 1
	podMetadata       = 2
	metadataName      = 1 // also of ContainerMetadata
	podUID            = 2
	podNamespace      = 3
	containerID       = 1
	containerMetadata = 3
)

func decodePods(b []byte) (pods []Pod, err error) {
	err = entries(b, func(b []byte) error {
		var p Pod
		err := members(b, func(n protowire.Number, v []byte) error {
			switch n {
			case podID:
				p.ID = string(v)
			case podMetadata:
				return members(v, func(n protowire.Number, v []byte) error {
					switch n {
					case metadataName:
						p.Name = string(v)
					case podUID:
						p.UID = string(v)
					case podNamespace:
						p.Namespace = string(v)
					}
					return nil
				})
			}
			return nil
		})
		pods = append(pods, p)
		return err
	})
	return pods, err
}

func decodeContainers(b []byte) (containers []Container, err error) {
	err = entries(b, func(b []byte) error {
		var c Container
		err := members(b, func(n protowire.Number, v []byte) error {
			switch n {
			case containerID:
				c.ID = string(v)
			case containerMetadata:
				return members(v, func(n protowire.Number, v []byte) error {
					if n == metadataName {
						c.Name = string(v)
					}
					return nil
				})
			}
			return nil
		})
		containers = append(containers, c)
		return err
	})
	return containers, err
}

// entries calls f with each entry of a list.
func entries(b []byte, f func(b []byte) error) error {
	seen := 0
	return members(b, func(n protowire.Number, v []byte) error {
		if n != responseItems {
			return nil
		}
		if seen++; seen > mostEntries {
			return fmt.Errorf("the answer has more than %d entries", mostEntries)
		}
		return f(v)
	})
}

// members calls f with each member of a message whose value is a text or a
// message.
func members(b []byte, f func(n protowire.Number, v []byte) error) error {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return errDamaged
		}
		b = b[size:]
		if kind != protowire.BytesType {
			if size = protowire.ConsumeFieldValue(n, kind, b); size < 0 {
				return errDamaged
			}
			b = b[size:]
			continue
		}
		v, size := protowire.ConsumeBytes(b)
		if size < 0 {
			return errDamaged
		}
		if err := f(n, v); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}
