package render

import (
	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/version"
)

// Role is what a machine becomes.
type Role int

const (
	// FirstServer starts a new cluster.
	FirstServer Role = iota + 1
	// JoiningServer joins the servers of a running cluster.
	JoiningServer
	// Worker joins a running cluster as an agent.
	Worker
)

// String names the role, for messages.
func (r Role) String() string {
	switch r {
	case FirstServer:
		return "first server"
	case JoiningServer:
		return "joining server"
	case Worker:
		return "worker"
	default:
		return "unknown role"
	}
}

// service is the name RKE2 gives the role: "server" or "agent".
func (r Role) service() string {
	if r == Worker {
		return "agent"
	}
	return "server"
}

// Input is everything the bootstrap data of one machine depend on.
type Input struct {
	// Role of the machine.
	Role Role
	// Version is the RKE2 release to install.
	Version version.Version
	// Token lets the machine join the cluster; the first server has others join with it. It is a secret.
	Token string
	// AgentToken is what workers join with, and is told to servers only. Empty when workers join with the servers'
	// token. It is a secret.
	AgentToken string
	// JoinAddress is the host name or IP address (without brackets, without port) of the server to join through.
	// Only for JoiningServer and Worker.
	JoinAddress string
	// CAs are the cluster's certificate authorities, placed on the first server so that RKE2 makes none of its own.
	// Only for FirstServer.
	CAs *CAs

	// Config is the machine's own config.
	Config bootstrapv1.RKE2ConfigSpec
	// Server are the settings of the cluster's servers. Workers take the few settings from it that all nodes share.
	Server controlplanev1.RKE2ServerConfig
	// Cluster is what the Cluster object asks of every server.
	Cluster Cluster
	// Limit is how large the data may be.
	Limit Limit
	// Contents are the values the references in Config and Server lead to.
	Contents Contents
}

// Cluster is what the Cluster object asks of every server.
type Cluster struct {
	// EndpointHost is the host of the control-plane endpoint; it goes into the servers' certificate. Empty when the
	// cluster has none.
	EndpointHost string
	// RegistrationHost is a further address nodes join through; it goes into the servers' certificate. May be empty.
	RegistrationHost string
	// PodCIDRs and ServiceCIDRs are the address ranges of pods and services. Empty means RKE2's default.
	PodCIDRs, ServiceCIDRs []string
	// Domain is the DNS domain of the cluster when the servers' settings name none. Empty means RKE2's default.
	Domain string
}

// CAs are the certificate authorities of a cluster.
type CAs struct {
	// Server signs the certificates of the API server and the supervisor.
	Server KeyPair
	// Client signs the certificates clients show to the API server.
	Client KeyPair
	// EtcdServer signs the certificates of etcd's client side, EtcdPeer those of etcd members among themselves. A legacy
	// cluster has none: RKE2 makes its own.
	EtcdServer, EtcdPeer KeyPair
}

// KeyPair is a certificate with its private key, both in PEM form.
type KeyPair struct {
	Cert, Key []byte
}

// Contents are the values the references of a config lead to. A value counts only where the reference to it is set.
type Contents struct {
	// Files has the content of each of Config.Files that has a contentFrom, by its index there.
	Files map[int][]byte
	// ResolvConf is what agentConfig.resolvConf leads to.
	ResolvConf []byte
	// CredentialProviderConfig and CredentialProviderBinaries are the two values of
	// agentConfig.imageCredentialProviderConfigMap.
	CredentialProviderConfig   []byte
	CredentialProviderBinaries string
	// EncryptionKey is what serverConfig.secretsEncryption.encryptionKeySecret leads to.
	EncryptionKey []byte
	// AuditPolicy is what serverConfig.auditPolicySecret leads to.
	AuditPolicy []byte
	// CloudProviderConfig is what serverConfig.cloudProviderConfigMap leads to.
	CloudProviderConfig []byte
	// S3 is what the references of serverConfig.etcd.backupConfig.s3 lead to.
	S3 S3Secrets
	// Datastore is what serverConfig.externalDatastoreSecret leads to.
	Datastore *Datastore
	// Manifests are the files of manifestsConfigMapReference, by name. There is no other sign of that reference in
	// Input, because it is part of neither Config nor Server.
	Manifests map[string][]byte
	// Registries holds what the references of privateRegistriesConfig.configs lead to, by the same key.
	Registries map[string]RegistrySecrets
}

// S3Secrets are the credentials of the bucket snapshots go to. Every field may be empty.
type S3Secrets struct {
	AccessKey, SecretKey string
	// CA is a PEM document.
	CA []byte
}

// Datastore is an external datastore.
type Datastore struct {
	// Endpoint may hold a password; it is a secret.
	Endpoint string
	// CA, Cert and Key are PEM documents; each may be empty.
	CA, Cert, Key []byte
}

// RegistrySecrets are the credentials of one image registry. Every field may be empty.
type RegistrySecrets struct {
	Username, Password string
	// IdentityToken stands in for user name and password.
	IdentityToken string
	// CA, Cert and Key are PEM documents.
	CA, Cert, Key []byte
}

// Output is the bootstrap data of one machine.
type Output struct {
	// Data is the document, compressed if the config asks for it. It holds secrets.
	Data []byte
	// Format is what Data is.
	Format bootstrapv1.Format
	// Warnings name settings that were accepted but have no effect, each a sentence. They hold no secret.
	Warnings []string
}
