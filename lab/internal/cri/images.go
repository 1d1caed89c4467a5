package cri

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// images is the image half of the CRI. What is in the catalog can be pulled.
type images struct {
	runtimeapi.UnimplementedImageServiceServer
	catalog Catalog

	mu    sync.Mutex
	names map[string]bool
}

func newImages(catalog Catalog) *images { return &images{catalog: catalog, names: map[string]bool{}} }

// PullImage notes the name; it fails with NotFound for an image that is not in the catalog.
func (s *images) PullImage(_ context.Context, q *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	name := q.GetImage().GetImage()
	if _, err := s.catalog.find(name); err != nil {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name] = true
	return &runtimeapi.PullImageResponse{ImageRef: name}, nil
}

// ImageStatus knows the images that were pulled.
func (s *images) ImageStatus(_ context.Context, q *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	name := q.GetImage().GetImage()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.names[name] {
		return &runtimeapi.ImageStatusResponse{}, nil
	}
	return &runtimeapi.ImageStatusResponse{Image: s.image(name)}, nil
}

// ListImages returns the images that were pulled.
func (s *images) ListImages(context.Context, *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	response := &runtimeapi.ListImagesResponse{}
	for name := range s.names {
		response.Images = append(response.Images, s.image(name))
	}
	return response, nil
}

// RemoveImage forgets the name.
func (s *images) RemoveImage(_ context.Context, q *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.names, q.GetImage().GetImage())
	return &runtimeapi.RemoveImageResponse{}, nil
}

// ImageFsInfo reports next to nothing in use, so that the kubelet never
// collects images.
func (s *images) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	usage := []*runtimeapi.FilesystemUsage{{
		Timestamp:  now(),
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes:  &runtimeapi.UInt64Value{Value: 1 << 20},
		InodesUsed: &runtimeapi.UInt64Value{Value: 1},
	}}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: usage, ContainerFilesystems: usage}, nil
}

func (s *images) image(name string) *runtimeapi.Image {
	image := &runtimeapi.Image{Id: name, RepoTags: []string{name}, Size: 1 << 20, Spec: &runtimeapi.ImageSpec{Image: name}}
	if s.catalog != nil {
		image.Uid = &runtimeapi.Int64Value{Value: nonRoot}
	}
	return image
}
