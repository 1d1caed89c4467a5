package render

// agentFields are those of agentConfig.
func agentFields() []Field {
	key := func(name string, keys ...string) Field {
		return Field{Path: "agentConfig." + name, Roles: everyNode, Keys: keys}
	}
	dataDir := key("dataDir", "data-dir")
	dataDir.Note, dataDir.Tests = "every path below `<data-dir>` moves with it", []string{"TestCAFiles"}
	nodeName := key("nodeName", "node-name")
	nodeName.Tests = []string{"TestTemplateHeader"}
	resolvConf := key("resolvConf", "resolv-conf")
	resolvConf.Files = []string{resolvConfPath}
	credentials := key("imageCredentialProviderConfigMap", "image-credential-provider-config", "image-credential-provider-bin-dir")
	credentials.Files = []string{credentialConfigPath}
	profile := key("cisProfile", "profile")
	profile.Files = []string{ScriptPath}
	profile.Note = "the script prepares the machine; cis-1.23 is written as cis, its newer name"
	profile.Tests = []string{"TestProfile", "TestScript"}
	fields := []Field{
		dataDir, key("nodeLabels", "node-label"), key("nodeTaints", "node-taint"), nodeName,
		key("containerRuntimeEndpoint", "container-runtime-endpoint"), key("snapshotter", "snapshotter"), profile,
		key("podSecurityAdmissionConfigFile", "pod-security-admission-config-file"), resolvConf, credentials,
		key("protectKernelDefaults", "protect-kernel-defaults"), key("systemDefaultRegistry", "system-default-registry"),
		key("enableContainerdSElinux", "selinux"), key("kubeletPath", "kubelet-path"), key("runtimeImage", "runtime-image"),
		key("loadBalancerPort", "lb-server-port"), key("kubelet.extraArgs", "kubelet-arg"),
	}
	fields = append(fields, kubeletFields()...)
	fields = append(fields, componentFields("agentConfig.kubeProxy", "kube-proxy", "kube-proxy-arg", everyNode)...)
	return append(fields, machineFields()...)
}

// kubeletFields are those that RKE2 has no option for.
func kubeletFields() []Field {
	return []Field{
		{
			Path: "agentConfig.kubelet.extraEnv", Roles: everyNode,
			Files: []string{"/etc/systemd/system/rke2-<service>.service.d/50-kubelet-environment.conf"},
			Note:  "environment of the RKE2 service, whose child the kubelet is",
		},
		{
			Path: "agentConfig.kubelet.extraMounts", Elsewhere: "nowhere, with a warning",
			Note: "the kubelet is a process of the host", Tests: []string{"TestWarnings"},
		},
		{
			Path: "agentConfig.kubelet.overrideImage", Elsewhere: "nowhere, with a warning",
			Note: "use kubeletPath or runtimeImage", Tests: []string{"TestWarnings"},
		},
		{
			Path: "agentConfig.nodeAnnotations", Roles: onlyWorker, Files: []string{ScriptPath},
			Note:  "set on the Node at first boot, with the kubelet's credentials",
			Tests: []string{"TestScript", "TestWorkerAnnotatesItsNode (internal/controller/bootstrap)"},
		},
		{
			Path: "agentConfig.nodeAnnotations", Roles: allServers, Elsewhere: "the Node, kept in step by the control plane's controller",
			Tests: []string{"TestNodeAnnotations (internal/upkeep)"},
		},
	}
}

// machineFields are those about the machine and the form of the data.
func machineFields() []Field {
	const (
		clock    = "`ntp` of the cloud-config; in Ignition files `" + chronyPath + "`, `" + timesyncdPath + "` and chronyd's unit"
		userData = "top-level keys of the cloud-config"
	)
	return []Field{
		{
			Path: "agentConfig.ntp.servers", Roles: everyNode, Elsewhere: clock, Tests: []string{"TestNTP", "TestIgnitionClock"},
		},
		{
			Path: "agentConfig.ntp.enabled", Roles: everyNode, Elsewhere: clock, Note: "not set: on as soon as there are servers",
			Tests: []string{"TestNTP", "TestIgnitionClock"},
		},
		{Path: "agentConfig.airGapped", Roles: everyNode, Files: []string{ScriptPath}, Tests: []string{"TestScript"}},
		{
			Path: "agentConfig.airGappedChecksum", Roles: everyNode, Files: []string{ScriptPath}, Note: "with airGapped only",
			Tests: []string{"TestScript"},
		},
		installField("scriptURL", "https://get.rke2.io without it"),
		installField("scriptChecksum", ""), installField("artifactURL", ""), installField("channelURL", ""), installField("method", ""),
		proxyField("httpProxy", ""), proxyField("httpsProxy", ""),
		proxyField("noProxy", "with httpProxy or httpsProxy only; what belongs to the cluster is added"),
		{
			Path: "agentConfig.format", Roles: everyNode, Elsewhere: "form of the bootstrap data",
			Tests: []string{"TestGolden", "TestIgnitionGolden"},
		},
		{
			Path: "agentConfig.additionalUserData.config", Roles: everyNode, Elsewhere: userData + "; in Ignition merged with it",
			Note: "of a cloud-config without write_files, runcmd and ntp", Tests: []string{"TestAdditionalUserData", "TestIgnitionUserConfig"},
		},
		{
			Path: "agentConfig.additionalUserData.data", Roles: everyNode, Elsewhere: userData,
			Note: "cloud-config only, without write_files, runcmd and ntp; a warning with Ignition", Tests: []string{"TestAdditionalUserData"},
		},
		{
			Path: "agentConfig.additionalUserData.strict", Roles: everyNode, Elsewhere: "how config is checked",
			Note: "Ignition only", Tests: []string{"TestStrictChangesNoCloudConfig", "TestIgnitionStrict"},
		},
	}
}

// componentFields are those of a component that RKE2 has all four options for.
func componentFields(path, name, argKey string, roles []Role) []Field {
	return []Field{
		{Path: path + ".extraArgs", Roles: roles, Keys: []string{argKey}},
		{Path: path + ".extraEnv", Roles: roles, Keys: []string{name + "-extra-env"}},
		{Path: path + ".extraMounts", Roles: roles, Keys: []string{name + "-extra-mount"}},
		{Path: path + ".overrideImage", Roles: roles, Keys: []string{name + "-image"}},
	}
}

func installField(name, note string) Field {
	return Field{
		Path: "agentConfig.install." + name, Roles: everyNode, Files: []string{ScriptPath}, Note: note,
		Tests: []string{"TestScript"},
	}
}

func proxyField(name, note string) Field {
	return Field{
		Path: "agentConfig.proxy." + name, Roles: everyNode, Note: note, Tests: []string{"TestProxy"},
		Files: []string{ScriptPath, "/etc/systemd/system/rke2-<service>.service.d/" + proxyDropIn + ".conf"},
	}
}
