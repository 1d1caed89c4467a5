package render

import (
	"testing"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// TestProxy pins the drop-in of the service.
func TestProxy(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Input)
		want   string
	}{
		"a server, all set": {
			func(in *Input) {
				in.Config.AgentConfig.Proxy = &bootstrapv1.Proxy{
					HTTPProxy: "http://u:50%\"@proxy:3128", HTTPSProxy: "http://proxy", NoProxy: []string{"192.168.0.0/24", "10.77.0.10"},
				}
				in.Server.ClusterDomain = "example.org"
			},
			"[Service]\nEnvironment=\"HTTPS_PROXY=http://proxy\"\nEnvironment=\"HTTP_PROXY=http://u:50%%\\\"@proxy:3128\"\n" +
				"Environment=\"NO_PROXY=192.168.0.0/24,10.77.0.10,localhost,127.0.0.0/8,::1,10.45.0.0/16,10.46.0.0/16,.svc,.example.org\"\n",
		},
		"a worker, RKE2's defaults": {
			func(in *Input) {
				*in = worker()
				in.Config.AgentConfig.Proxy = &bootstrapv1.Proxy{HTTPProxy: "http://proxy"}
			},
			"[Service]\nEnvironment=\"HTTP_PROXY=http://proxy\"\n" +
				"Environment=\"NO_PROXY=localhost,127.0.0.0/8,::1,10.42.0.0/16,10.43.0.0/16,.svc,.cluster.local,fd00::10\"\n",
		},
		"no proxy": {
			func(in *Input) { in.Config.AgentConfig.Proxy = &bootstrapv1.Proxy{NoProxy: []string{"10.0.0.0/8"}} }, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := firstServer()
			c.change(&in)
			f, ok := filesOf(t, in)["/etc/systemd/system/rke2-"+in.Role.service()+".service.d/40-proxy.conf"]
			if f.Content != c.want || ok != (c.want != "") {
				t.Errorf("%s", f.Content)
			}
			if ok && f.Permissions != "0600" {
				t.Errorf("mode %s", f.Permissions)
			}
		})
	}
}
