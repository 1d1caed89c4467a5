// Package secrets reads and creates the Secrets that make a cluster what it is: its certificate authorities and the
// token nodes join with. Names, type, label and keys are those existing RKE2 clusters have, so that a running cluster
// can be taken over.
//
// Certificate authorities and the token are created once, before the cluster is initialized, and are never replaced:
// the machines have them on disk. What cannot be used is reported as a *ContentError, which names the Secret, what is
// wrong with it and the way out; every other error is failed I/O.
package secrets

import (
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Purpose is what a certificate authority of a cluster is for. Its text is the end of the Secret's name.
type Purpose string

const (
	// ServerCA signs the certificates of the API server and of RKE2's supervisor.
	ServerCA Purpose = "ca"
	// ClientCA signs the certificates clients show to the API server.
	ClientCA Purpose = "cca"
	// EtcdCA signs the certificates etcd shows to its clients, and those its clients show.
	EtcdCA Purpose = "etcd"
	// EtcdPeerCA signs the certificates etcd members show each other.
	EtcdPeerCA Purpose = "peer-etcd"
)

// Purposes returns the certificate authorities of a cluster. Legacy clusters (those whose control plane carries the
// legacy annotation) have no etcd authorities in Secrets.
func Purposes(legacy bool) []Purpose {
	if legacy {
		return []Purpose{ServerCA, ClientCA}
	}
	return []Purpose{ServerCA, ClientCA, EtcdCA, EtcdPeerCA}
}

// commonName is the name in the certificate of a new authority, as RKE2 itself names them.
func (p Purpose) commonName() string {
	switch p {
	case ServerCA:
		return "rke2-server-ca"
	case ClientCA:
		return "rke2-client-ca"
	case EtcdCA:
		return "etcd-server-ca"
	default:
		return "etcd-peer-ca"
	}
}

// Keys inside the Secrets.
const (
	// CertKey holds a certificate authority's certificate in PEM form.
	CertKey = corev1.TLSCertKey
	// PrivateKeyKey holds its private key in PEM form.
	PrivateKeyKey = corev1.TLSPrivateKeyKey
	// ValueKey holds the token, or the kubeconfig.
	ValueKey = "value"
)

// Type is the type of the Secrets (Cluster API contract).
const Type = clusterv1.ClusterSecretType

// NameSet has the names of the objects of one cluster, all in the namespace of the Cluster.
type NameSet struct {
	// ServerCA, ClientCA, EtcdCA and EtcdPeerCA are the Secrets of the certificate authorities.
	ServerCA, ClientCA, EtcdCA, EtcdPeerCA string
	// Token is the Secret of the token that servers join with.
	Token string
	// AgentToken is the Secret of the token that workers join with. Clusters another provider started have none: their
	// workers join with Token. The name cannot be that of a Secret of another cluster, as <cluster>-agent-token could.
	AgentToken string
	// Kubeconfig is the Secret of the administrator's kubeconfig.
	Kubeconfig string
	// InitLock is the ConfigMap that names the Machine that may become the first server.
	InitLock string
}

// Names returns the names of the objects of a cluster.
func Names(cluster string) NameSet {
	return NameSet{
		ServerCA:   CAName(cluster, ServerCA),
		ClientCA:   CAName(cluster, ClientCA),
		EtcdCA:     CAName(cluster, EtcdCA),
		EtcdPeerCA: CAName(cluster, EtcdPeerCA),
		Token:      cluster + "-token",
		AgentToken: cluster + "-token-agent",
		Kubeconfig: cluster + "-kubeconfig",
		InitLock:   cluster + "-lock",
	}
}

// CAName returns the name of the Secret of one certificate authority.
func CAName(cluster string, purpose Purpose) string {
	return cluster + "-" + string(purpose)
}
