package upkeep

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
)

// nodes brings the annotations the user wants on server Nodes to those that
// exist. Without a connection nothing is done: the look after the next
// connection does it.
func (u *Upkeep) nodes(ctx context.Context, s *scope.Scope) error {
	wanted := s.ControlPlane.Spec.AgentConfig.NodeAnnotations
	if len(wanted) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, workload.CallTimeout)
	defer cancel()
	c, err := connected(ctx, s, u.Nodes.GetClient)
	if c == nil {
		return err
	}
	return each(s.NodeNames(), "Node", func(name string) error {
		return annotateNode(ctx, c, name, wanted)
	})
}

// connected opens the workload cluster. Without a connection there is neither a
// client nor an error: the look after the next connection does what is to do.
func connected(ctx context.Context, s *scope.Scope, open func(context.Context, client.ObjectKey) (client.Client, error)) (client.Client, error) {
	c, err := open(ctx, s.ClusterKey())
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return nil, nil //nolint:nilnil // no connection is no failure
	}
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %s: %w", s.ClusterKey(), err)
	}
	return c, nil
}

func annotateNode(ctx context.Context, c client.Client, name string, wanted map[string]string) error {
	node := &corev1.Node{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, node)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if includes(node.Annotations, wanted) {
		return nil
	}
	updated := node.DeepCopy()
	if updated.Annotations == nil {
		updated.Annotations = map[string]string{}
	}
	maps.Copy(updated.Annotations, wanted)
	if err := c.Patch(ctx, updated, client.MergeFrom(node)); err != nil {
		return fmt.Errorf("annotate: %w", err)
	}
	return nil
}
