package bootstrap

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/render"
)

func TestRecordOfInput(t *testing.T) {
	of := func(change func(*render.Input)) record {
		in := render.Input{Role: render.Worker, Token: "token", JoinAddress: "a"}
		change(&in)
		return newRecord(&in)
	}
	before := of(func(*render.Input) {})
	defaulted := of(func(in *render.Input) { in.Config.AgentConfig.Format = bootstrapv1.CloudConfig })
	if defaulted != before {
		t.Errorf("a default that is written out is a change: %+v, before %+v", defaulted, before)
	}
	config := of(func(in *render.Input) { in.Config.PreRKE2Commands = []string{"true"} })
	if config.Config == before.Config || config.Others != before.Others {
		t.Errorf("a change of the config gives %+v, before %+v", config, before)
	}
	content := of(func(in *render.Input) { in.Contents.ResolvConf = []byte("x") })
	if content.Config != before.Config || content.Others == before.Others {
		t.Errorf("a change of a reference's content gives %+v, before %+v", content, before)
	}
	token := of(func(in *render.Input) { in.Token = "other" })
	if token.Config == before.Config || token.Others == before.Others {
		t.Errorf("the digests do not depend on the token: %+v, before %+v", token, before)
	}
}

func TestRecordOnASecret(t *testing.T) {
	want := record{Version: "v1", JoinAddress: "a", Config: "c", Others: "o"}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kept": "yes"}}}
	if _, ok := recordOn(secret); ok {
		t.Error("found a record where there is none")
	}
	annotate(secret, want.annotation())
	if got, ok := recordOn(secret); !ok || got != want || secret.Annotations["kept"] != "yes" {
		t.Errorf("%+v, %v; annotations %v", got, ok, secret.Annotations)
	}
	secret.Annotations[bootstrapv1.MadeFromAnnotation] = "{"
	if got, ok := recordOn(secret); ok || got != (record{}) {
		t.Errorf("%+v, %v from what is no record", got, ok)
	}
}

func TestRecordTellsWhatChanged(t *testing.T) {
	before := record{Version: "v1", JoinAddress: "a", Config: "c", Others: "o"}
	for want, change := range map[string]func(*record){
		"version (v2, before v1)":                                func(m *record) { m.Version = "v2" },
		"configuration":                                          func(m *record) { m.Config, m.Others = "d", "p" },
		"address to join through (b, before a)":                  func(m *record) { m.JoinAddress = "b" },
		"content of references or settings of the control plane": func(m *record) { m.Others = "p" },
	} {
		now := before
		change(&now)
		if got := before.changes(now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := before.changes(record{Version: "v2", Config: "d", JoinAddress: "a"}); !strings.Contains(got, ", configuration") {
		t.Errorf("not all that changed: %q", got)
	}
}
