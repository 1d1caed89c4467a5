package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// A user's own Secret has no cluster label and is not in the cache.
func TestSecretsOutsideOfTheCacheAreFound(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "a", Name: "mine"}
	live := fake.NewFakeClient(&corev1.Secret{ObjectMeta: meta}, &corev1.ConfigMap{ObjectMeta: meta})
	c := secretClient{Client: fake.NewFakeClient(), live: live}
	key := client.ObjectKey{Namespace: "a", Name: "mine"}
	if err := c.Get(t.Context(), key, &corev1.Secret{}); err != nil {
		t.Errorf("the Secret was not found: %v", err)
	}
	if err := c.Get(t.Context(), key, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("a ConfigMap was read past the cache: %v", err)
	}
	key.Name = "nobody's"
	if err := c.Get(t.Context(), key, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("a Secret that does not exist gave %v", err)
	}
}

// Managers of both kinds must not work beside those that clusters are taken
// over from.
func TestLeaderID(t *testing.T) {
	if id := (Options{Bootstrap: true}).leaderID(); id != "rke2-bootstrap-manager-leader-election-capi" {
		t.Error(id)
	}
	if id := (Options{Bootstrap: true, ControlPlane: true}).leaderID(); id != "rke2-controlplane-manager-leader-election-capi" {
		t.Error(id)
	}
}
