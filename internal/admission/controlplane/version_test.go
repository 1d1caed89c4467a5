package controlplane

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/findingtest"
)

func TestChangeOfVersion(t *testing.T) {
	notYet := func(cp *controlPlane) {
		cp.Status.Conditions = []metav1.Condition{{Type: controlplanev1.InitializedCondition, Status: metav1.ConditionFalse}}
	}
	moved := func(cp *controlPlane) {
		notYet(cp)
		cp.Annotations = map[string]string{controlplanev1.InitializedAnnotation: "true"}
	}
	type changes = []func(*controlPlane)
	for name, c := range map[string]struct {
		from   string
		stored changes
		to     string
		want   want
	}{
		"patch":        {from: "v1.35.3+rke2r1", to: "v1.35.4+rke2r1"},
		"many patches": {from: "v1.35.3+rke2r1", to: "v1.35.30+rke2r1"},
		"minor":        {from: "v1.35.3+rke2r1", to: "v1.36.0+rke2r1"},
		"build":        {from: "v1.35.3+rke2r2", to: "v1.35.3+rke2r10"},
		"release":      {from: "v1.36.0-rc1+rke2r1", to: "v1.36.0+rke2r1"},
		"two minors": {from: "v1.34.3+rke2r1", to: "v1.36.0+rke2r1", want: want{Errors: []string{
			`spec.version: Invalid value: "v1.36.0+rke2r1": a control plane cannot go from v1.34.3+rke2r1 to v1.36.0+rke2r1 at once, Kubernetes supports one minor version at a time: set a release of v1.35 first`}}},
		"back a minor": {from: "v1.35.3+rke2r1", to: "v1.34.3+rke2r1", want: want{Errors: []string{
			`spec.version: Invalid value: "v1.34.3+rke2r1": a control plane cannot go back from v1.35.3+rke2r1: etcd and the API server of an earlier release may not read what later ones wrote; restore a snapshot into a new cluster instead`}}},
		"back a patch": {from: "v1.35.3+rke2r1", to: "v1.35.2+rke2r9", want: want{Errors: []string{`spec.version: Invalid value: "v1.35.2+rke2r9": a control plane cannot go back`}}},
		"back a build": {from: "v1.35.3+rke2r10", to: "v1.35.3+rke2r2", want: want{Errors: []string{
			`spec.version: Invalid value: "v1.35.3+rke2r2": a control plane cannot go back from v1.35.3+rke2r10 to an earlier build: set the same or a later release`}}},
		"back to a candidate": {from: "v1.36.0+rke2r1", to: "v1.36.0-rc1+rke2r1", want: want{Errors: []string{`spec.version: Invalid value: "v1.36.0-rc1+rke2r1": a control plane cannot go back`}}},

		"rollout on its way, next minor": {from: "v1.35.3+rke2r1", stored: changes{running("v1.34.3+rke2r1")}, to: "v1.36.0+rke2r1", want: want{Errors: []string{
			`spec.version: Invalid value: "v1.36.0+rke2r1": servers still run v1.34.3+rke2r1, and Kubernetes supports one minor version at a time: wait until all run v1.35.3+rke2r1`}}},
		"rollout on its way, next patch": {from: "v1.35.3+rke2r1", stored: changes{running("v1.34.3+rke2r1")}, to: "v1.35.4+rke2r1"},
		"rollout turned round": {from: "v1.35.99+rke2r1", stored: changes{running("v1.34.3+rke2r1")}, to: "v1.34.3+rke2r1", want: want{Warnings: []string{
			"spec.version: back to v1.34.3+rke2r1, which a server still runs: servers that have reached v1.35.99+rke2r1 already are replaced again"}}},
		"rollout turned round to something between": {from: "v1.35.99+rke2r1", stored: changes{running("v1.34.3+rke2r1")}, to: "v1.35.3+rke2r1", want: want{Warnings: []string{"spec.version: back to v1.35.3+rke2r1"}}},
		"rollout turned too far":                    {from: "v1.35.99+rke2r1", stored: changes{running("v1.34.3+rke2r1")}, to: "v1.34.2+rke2r1", want: want{Errors: []string{`spec.version: Invalid value: "v1.34.2+rke2r1": a control plane cannot go back`}}},

		"nothing runs yet":           {from: "v1.99.0+rke2r1", stored: changes{notYet}, to: "v1.35.3+rke2r1"},
		"status lost by a move":      {from: "v1.35.3+rke2r1", stored: changes{moved}, to: "v1.34.3+rke2r1", want: want{Errors: []string{`spec.version: Invalid value: "v1.34.3+rke2r1": a control plane cannot go back`}}},
		"stored without a version":   {from: "", to: "v1.35.3+rke2r1"},
		"stored with an odd version": {from: "latest", stored: changes{running("v1.33.1+rke2r1")}, to: "v1.35.3+rke2r1", want: want{Errors: []string{`spec.version: Invalid value: "v1.35.3+rke2r1": servers still run v1.33.1+rke2r1`}}},
		"made odd":                   {from: "v1.35.3+rke2r1", to: "latest", want: want{Errors: []string{`spec.version: Invalid value: "latest": this is not an RKE2 release`}}},

		"across etcd 3.5.26": {from: "v1.33.6+rke2r1", to: "v1.34.2+rke2r1", want: want{Errors: []string{
			`spec.version: Invalid value: "v1.34.2+rke2r1": this leads from etcd before 3.5.26 (in v1.33.6+rke2r1) straight to etcd 3.6`}}},
		"by way of etcd 3.5.26":            {from: "v1.33.7+rke2r3", to: "v1.34.2+rke2r1"},
		"across it with another datastore": {from: "v1.33.6+rke2r1", stored: changes{externalDatastore}, to: "v1.34.2+rke2r1"},
	} {
		t.Run(name, func(t *testing.T) {
			stored := valid(append(c.stored, asked(c.from))...)
			object := stored.DeepCopy()
			object.Spec.Version = c.to
			findingtest.Check(t, Validate(stored, object, false), c.want)
		})
	}
}
