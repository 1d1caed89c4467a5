package compat

import (
	"errors"
	"maps"
	"os"
	"strings"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
)

// Sizes and versions that the variables of the samples get.
const (
	servers = "3"
	workers = "2"
	version = "v1.34.2"
	// bumpedVersion is what topologies are upgraded to.
	bumpedVersion = "v1.34.3"
	build         = "+rke2r1"
)

// values are the values of the samples' variables, except for the names of the
// cluster and its namespace. Addresses are those reserved for documentation.
var values = map[string]string{
	"CLASS_NAME":                  "rke2-class",
	"CONTROL_PLANE_MACHINE_COUNT": servers,
	"WORKER_MACHINE_COUNT":        workers,
	"KUBERNETES_VERSION":          version,
	"RKE2_VERSION":                version + build,
	"CIS_PROFILE":                 "cis",
	"KIND_IMAGE_VERSION":          version,
	"LOCAL_IMAGES":                "/tmp/images",
	"REGISTRATION_VIP":            "192.0.2.10",
	"CONTROL_PLANE_ENDPOINT_IP":   "192.0.2.10",
	"CLUSTER_API_HOSTNAME":        "192.0.2.10",
	"CLUSTER_API_PORT":            "6443",
	"DNS_SERVER":                  "192.0.2.53",
	"SERVER":                      "https://192.0.2.1:6443",
	"TOKEN":                       "token",

	"AWS_AMI_ID": "ami-0", "AWS_CONTROL_PLANE_MACHINE_TYPE": "t3.large", "AWS_NODE_MACHINE_TYPE": "t3.large",
	"AWS_REGION": "eu-central-1", "AWS_SSH_KEY_NAME": "default",

	"IMAGE_URL": "http://192.0.2.80/image.raw", "IMAGE_CHECKSUM": "http://192.0.2.80/image.sha256",
	"IMAGE_CHECKSUM_TYPE": "sha256", "IMAGE_FORMAT": "raw",
	"PROVISIONING_NETWORK": "198.51.100.0", "PROVISIONING_NETWORK_GATEWAY": "198.51.100.1", "PROVISIONING_NETWORK_PREFIX": "24",
	"PROVISIONING_NETWORK_IP_POOL_START": "198.51.100.10", "PROVISIONING_NETWORK_IP_POOL_END": "198.51.100.99", "PROVISIONING_NETWORK_IP_POOL_PREFIX": "24",
	"PUBLIC_NETWORK_GATEWAY": "203.0.113.1", "PUBLIC_NETWORK_IP_POOL_START": "203.0.113.10",
	"PUBLIC_NETWORK_IP_POOL_END": "203.0.113.99", "PUBLIC_NETWORK_IP_POOL_PREFIX": "24",

	"IMAGE": "ubuntu", "OPENSTACK_CLOUD_NAME": "cloud", "OPENSTACK_CONTROLPLANE_FLAVOR": "medium", "OPENSTACK_WORKER_FLAVOR": "medium",
	"OPENSTACK_FAILURE_DOMAIN": "nova", "OPENSTACK_PUBLIC_NETWORK_ID": "public", "OPENSTACK_SSH_KEY": "default", "OPENSTACK_VOLUME_PROVIDER": "default",
	"S3_ENDPOINT": "s3.example.org", "S3_REGION": "eu-central-1", "S3_BUCKET": "etcd",

	"CPI_IMAGE_K8S_VERSION": version, "VSPHERE_DATACENTER": "dc", "VSPHERE_DATASTORE": "ds", "VSPHERE_FOLDER": "folder",
	"VSPHERE_NETWORK": "network", "VSPHERE_PASSWORD": "password", "VSPHERE_RESOURCE_POOL": "pool", "VSPHERE_SERVER": "192.0.2.90",
	"VSPHERE_SSH_AUTHORIZED_KEY": "ssh-ed25519 AAAA user", "VSPHERE_TEMPLATE": "ubuntu",
	"VSPHERE_TLS_THUMBPRINT": strings.Repeat("00:", 19) + "00", "VSPHERE_USERNAME": "user",
}

var errNoValue = errors.New("no value")

// substitute replaces the variables as clusterctl does. What has no value here is looked for in the environment; a
// variable without a value and without a default is an error that names it. The cluster and its namespace have the same
// name, because a sample takes one for the other.
func substitute(text []byte, name string) ([]byte, error) {
	all := maps.Clone(values)
	all["CLUSTER_NAME"], all["NAMESPACE"] = name, name
	return yamlprocessor.NewSimpleProcessor().Process(text, func(variable string) (string, error) {
		if value, ok := all[variable]; ok {
			return value, nil
		}
		if value, ok := os.LookupEnv(variable); ok {
			return value, nil
		}
		return "", errNoValue
	})
}
