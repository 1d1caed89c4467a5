package render

// Field says where one field of the API reaches a node. The reference page docs/reference/node-config.md is made from
// these rows, and errors about a key of config.yaml take the name of the field from them.
type Field struct {
	// Path is the field's JSON path below the spec of an RKE2Config, or that of an RKE2ControlPlane for serverConfig.
	// The items of a list are marked by [], the values of a map by {}.
	Path string
	// Roles are those of the nodes it reaches.
	Roles []Role
	// Keys are the keys of config.yaml that are made from it.
	Keys []string
	// Files are the files whose content it becomes, or is part of. The path may hold <data-dir>, the folder of RKE2's
	// state, <service>, which is "server" or "agent", <registry>, a key of configs, and <key>, one of a ConfigMap.
	Files []string
	// Elsewhere says where it goes when that is neither a key nor a file of its own.
	Elsewhere string
	// Note is a remark for the page.
	Note string
	// Tests are the names of tests that show it, besides the one that goes through all rows. A name may be followed by
	// the folder of its package, in parentheses.
	Tests []string
}

// The roles a field may reach.
var (
	everyNode  = []Role{FirstServer, JoiningServer, Worker}
	allServers = []Role{FirstServer, JoiningServer}
	onlyFirst  = []Role{FirstServer}
	onlyWorker = []Role{Worker}
	joining    = []Role{JoiningServer, Worker}
)

// Fields returns a row for every field of RKE2ConfigSpec and of RKE2ServerConfig. A field that goes different ways on
// different nodes has several.
func Fields() []Field {
	fields := append(configFields(), agentFields()...)
	return append(fields, serverFields()...)
}

// configFields are those of RKE2ConfigSpec outside agentConfig.
func configFields() []Field {
	const file = "the file"
	content := []string{"TestUserContentIsKept", "TestIgnitionContentIsKept"}
	encodings := []string{"TestUserEncodings", "TestIgnitionOwnersModesEncodings"}
	attributes := []string{"TestGolden", "TestIgnitionOwnersModesEncodings"}
	secretContent := []string{"TestUserContentIsKept", "TestEveryReferenceIsRead (internal/controller/bootstrap)"}
	registryTLS := "/etc/rancher/rke2/tls/<registry>/"
	return []Field{
		{Path: "files[].path", Roles: everyNode, Elsewhere: "path of " + file, Tests: content},
		{Path: "files[].owner", Roles: everyNode, Elsewhere: "owner of " + file, Tests: attributes},
		{Path: "files[].permissions", Roles: everyNode, Elsewhere: "mode of " + file, Tests: attributes},
		{Path: "files[].encoding", Roles: everyNode, Elsewhere: "how content is decoded", Tests: encodings},
		{Path: "files[].content", Roles: everyNode, Elsewhere: "content of " + file, Tests: content},
		{Path: "files[].contentFrom.secret", Roles: everyNode, Elsewhere: "content of " + file, Tests: secretContent},
		{Path: "files[].contentFrom.configMap", Roles: everyNode, Elsewhere: "content of " + file, Tests: secretContent},
		{Path: "preRKE2Commands", Roles: everyNode, Files: []string{ScriptPath}, Tests: []string{"TestScript"}},
		{Path: "postRKE2Commands", Roles: everyNode, Files: []string{ScriptPath}, Tests: []string{"TestScript"}},
		{Path: "privateRegistriesConfig.mirrors{}.endpoint", Roles: everyNode, Files: []string{registriesPath}},
		{Path: "privateRegistriesConfig.mirrors{}.rewrite", Roles: everyNode, Files: []string{registriesPath}},
		{
			Path: "privateRegistriesConfig.configs{}.authSecret", Roles: everyNode, Files: []string{registriesPath},
			Note: "user name and password, or the identity token",
		},
		{
			Path: "privateRegistriesConfig.configs{}.tls.tlsConfigSecret", Roles: everyNode,
			Files: []string{registriesPath, registryTLS + "ca.crt", registryTLS + "tls.crt", registryTLS + "tls.key"},
		},
		{Path: "privateRegistriesConfig.configs{}.tls.insecureSkipVerify", Roles: everyNode, Files: []string{registriesPath}},
		{
			Path: "gzipUserData", Roles: everyNode, Elsewhere: "compression of the bootstrap data",
			Tests: []string{"TestGzip", "TestIgnitionGzip"},
		},
	}
}

// OtherSources returns where the settings come from that no field of RKE2ConfigSpec or RKE2ServerConfig decides.
func OtherSources() []Field {
	caFile := "<data-dir>/server/tls/"
	return []Field{
		{
			Path: "Secret <cluster>-token", Roles: everyNode, Keys: []string{"token"}, Tests: []string{"TestRoles"},
			Note: "joining nodes have it in the form that pins the server CA; workers have it only in clusters that another " +
				"provider started",
		},
		{
			Path: "Secret <cluster>-token-agent", Roles: everyNode, Keys: []string{"agent-token", "token"},
			Note:  "agent-token of servers, token of workers",
			Tests: []string{"TestRoles", "TestTokens (internal/controller/bootstrap)"},
		},
		{
			Path: "Secrets <cluster>-ca, -cca, -etcd, -peer-etcd", Roles: onlyFirst, Tests: []string{"TestCAFiles"},
			Files: []string{
				caFile + "server-ca.{crt,key}", caFile + "client-ca.{crt,key}", caFile + "etcd/server-ca.{crt,key}",
				caFile + "etcd/peer-ca.{crt,key}",
			},
		},
		{
			Path: "RKE2ControlPlane spec.registrationMethod, spec.registrationAddress", Roles: joining, Keys: []string{"server"},
			Note: "the address goes into tls-san of all servers, too", Tests: []string{"TestRoles"},
		},
		{
			Path: "RKE2ControlPlane spec.manifestsConfigMapReference", Roles: allServers,
			Files: []string{"<data-dir>/server/manifests/<key>"}, Tests: []string{"TestGolden"},
		},
		{Path: "Machine spec.version", Roles: everyNode, Files: []string{ScriptPath}, Tests: []string{"TestScript"}},
		{
			Path: "Cluster spec.controlPlaneEndpoint.host", Roles: allServers, Keys: []string{"tls-san"},
			Tests: []string{"TestRoles", "TestNoEmptySAN"},
		},
		{
			Path: "Cluster spec.clusterNetwork.pods.cidrBlocks", Roles: allServers, Keys: []string{"cluster-cidr"},
			Tests: []string{"TestRoles"},
		},
		{
			Path: "Cluster spec.clusterNetwork.services.cidrBlocks", Roles: allServers, Keys: []string{"service-cidr"},
			Tests: []string{"TestRoles"},
		},
		{
			Path: "Cluster spec.clusterNetwork.serviceDomain", Roles: allServers, Keys: []string{"cluster-domain"},
			Note:  "serverConfig.clusterDomain wins; clusters that another provider started keep what they have",
			Tests: []string{"TestDomainOfServersWins", "TestDomainOfTheClusterCountsForOurClusters (internal/controller/bootstrap)"},
		},
	}
}
