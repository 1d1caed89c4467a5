package story

import "context"

var legacyEtcd = Story{
	Name:    "legacy-etcd",
	Purpose: "A cluster of the legacy kind, whose etcd nobody has the keys of: its only server gives them to Drover, and is then upgraded by replacement like any other.",
	play:    playLegacy,
}

// legacyAnnotation marks clusters from before etcd's authorities were in
// Secrets: nobody makes them, and RKE2 makes its own.
const legacyAnnotation = "controlplane.cluster.x-k8s.io/legacy"

func playLegacy(ctx context.Context, r *Run) error {
	return r.replaceOnly(ctx, Spec{Name: "legacy", Annotations: map[string]string{legacyAnnotation: ""}}, "A cluster of the legacy kind is opened, and its only server replaced")
}
