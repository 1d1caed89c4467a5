package bootstrap

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestOtherNamespacesNeedTheFlag(t *testing.T) {
	reader := fake.NewClientBuilder().WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shared", Name: "login"},
		Data:       map[string][]byte{"a": []byte("hunter2"), "b": []byte("hunter3")},
	}).Build()
	for name, c := range map[string]struct {
		allowed bool
		keys    []string
		want    string
	}{
		"all keys": {want: "f: Secret shared/login is in another namespace and is not read: copy it to namespace own and name it without a namespace, " +
			"or have the managers started with --allow-cross-namespace-references"},
		"one key":   {keys: []string{"a"}, want: "f: Secret shared/login (key a) is in another namespace"},
		"some keys": {keys: []string{"a", "b"}, want: "f: Secret shared/login (keys a, b) is in another namespace"},
		"allowed":   {allowed: true, keys: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			resolver := resolver{reader: reader, namespace: "own", crossNamespace: c.allowed}
			data, err := resolver.secret(t.Context(), "f", "shared", "login", c.keys...)
			if c.want == "" {
				if err != nil || string(data["a"]) != "hunter2" {
					t.Errorf("got %v, %v", data, err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if data != nil {
				t.Errorf("read %d keys", len(data))
			}
		})
	}
}
