package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// scaleTo asks for a number of servers of a stored control plane.
func scaleTo(t *testing.T, stored *controlPlane, n int32, functions interceptor.Funcs) admission.Response {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{controlplanev1.AddToScheme, autoscalingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(functions)
	if stored != nil {
		builder = builder.WithObjects(stored)
	}
	raw, err := json.Marshal(&autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}, Spec: autoscalingv1.ScaleSpec{Replicas: n},
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := &scaler{reader: builder.Build(), decoder: admission.NewDecoder(scheme)}
	return handler.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Namespace: "own", Name: "cp", Object: runtime.RawExtension{Raw: raw},
	}})
}

func TestScale(t *testing.T) {
	const even = "spec.replicas: 2 servers survive the loss of 0, no more than 1 servers do"
	for name, c := range map[string]struct {
		stored   *controlPlane
		to       int32
		refused  string
		warnings []string
	}{
		"odd":                       {stored: valid(), to: 5},
		"even":                      {stored: valid(), to: 2, warnings: []string{even}},
		"even as before":            {stored: valid(replicas(2)), to: 2},
		"even with another store":   {stored: valid(externalDatastore), to: 2},
		"none":                      {stored: valid(), to: 0, refused: "spec.replicas: Invalid value: 0: replicas must be at least 1"},
		"fewer than maxSurge 0 can": {stored: valid(surge(intstr.FromInt32(0))), to: 1, refused: "spec.rolloutStrategy.rollingUpdate.maxSurge: Invalid value: 0: maxSurge 0 needs replicas of at least 3"},
		"several with one name":     {stored: valid(replicas(1), nodeName("node-1")), to: 3, refused: "spec.agentConfig.nodeName: Invalid value: \"node-1\": several servers cannot have one name"},
		"something else was wrong":  {stored: valid(asked("latest")), to: 5, warnings: []string{}},
		"a control plane not there": {to: 0},
		"a control plane that leaves": {stored: valid(func(cp *controlPlane) {
			cp.DeletionTimestamp, cp.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"a/b"}
		}), to: 0},
	} {
		t.Run(name, func(t *testing.T) {
			response := scaleTo(t, c.stored, c.to, interceptor.Funcs{})
			if response.Allowed != (c.refused == "") {
				t.Fatalf("allowed %v, %+v", response.Allowed, response.Result)
			}
			if !response.Allowed && !strings.Contains(response.Result.Message, c.refused) {
				t.Errorf("got  %s\nwant %s", response.Result.Message, c.refused)
			}
			if !slices.EqualFunc(response.Warnings, c.warnings, strings.HasPrefix) {
				t.Errorf("warnings %q, want %q", response.Warnings, c.warnings)
			}
		})
	}
}

func TestScaleWithoutAnAnswer(t *testing.T) {
	response := scaleTo(t, nil, 3, interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
		return errors.New("no connection")
	}})
	if response.Allowed || !strings.Contains(response.Result.Message, "get RKE2ControlPlane own/cp to check its number of servers: no connection") {
		t.Errorf("got %+v", response.Result)
	}
}
