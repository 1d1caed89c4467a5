package workload

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// RemovalAsked tells whether RKE2 was asked to remove the Node's member, and
// since when. It is asked by the annotation, and as well by whoever deletes the
// Node: RKE2's finalizer keeps the Node until it has removed the member.
func RemovalAsked(node *corev1.Node) (asked bool, since time.Time) {
	switch {
	case strings.EqualFold(node.Annotations[controlplanev1.EtcdRemoveAnnotation], "true"):
		return true, AskedAt(node, RemovalAskedAtAnnotation)
	case !node.DeletionTimestamp.IsZero():
		return true, node.DeletionTimestamp.Time
	default:
		return false, time.Time{}
	}
}

// AskedAt reads when a Node was asked for something. Without the annotation, or
// when it can't be read, it is the zero time: long ago.
func AskedAt(node *corev1.Node, annotation string) time.Time {
	t, err := time.Parse(time.RFC3339, node.Annotations[annotation])
	if err != nil {
		return time.Time{}
	}
	return t
}
