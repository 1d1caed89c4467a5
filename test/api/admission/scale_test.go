package admission_test

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestScale(t *testing.T) {
	ctx, cp := t.Context(), parse(t, space(t, nil), controlPlane)
	if err := kube.Create(ctx, cp); err != nil {
		t.Fatal(err)
	}
	scale := func(n int32) error {
		body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
		return kube.SubResource("scale").Update(ctx, cp, client.WithSubResourceBody(body))
	}
	for _, c := range []struct {
		to       int32
		warnings []string
	}{
		{3, nil},
		{2, []string{"spec.replicas: 2 servers survive the loss of 0, no more than 1 servers do"}},
		{1, nil},
	} {
		if err := scale(c.to); err != nil {
			t.Fatalf("to %d: %v", c.to, err)
		}
		warnings(t, c.warnings...)
	}
	refused(t, scale(0), "spec.replicas: Invalid value: 0: replicas must be at least 1")

	if err := kube.Get(ctx, client.ObjectKeyFromObject(cp), cp); err != nil {
		t.Fatal(err)
	}
	set(t, cp, "node-1", "spec", "agentConfig", "nodeName")
	if err := kube.Update(ctx, cp); err != nil {
		t.Fatal(err)
	}
	refused(t, scale(3), `spec.agentConfig.nodeName: Invalid value: "node-1": several servers cannot have one name`)
}
