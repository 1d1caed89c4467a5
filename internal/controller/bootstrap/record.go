package bootstrap

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/render"
	"github.com/drover-project/drover/internal/version"
	"github.com/drover-project/drover/internal/world/desired"
)

// record says what the data of a pool were made from. It holds no secret: digests are keyed with the cluster's token, so
// that nobody finds out what was digested by trying.
type record struct {
	Version     string `json:"version"`
	JoinAddress string `json:"joinAddress"`
	// Config is the digest of the config's spec, Others that of everything else, such as the content of references and
	// what servers and workers have in common.
	Config string `json:"config"`
	Others string `json:"others"`
}

func newRecord(in *render.Input) record {
	others := *in
	others.Version, others.JoinAddress, others.Config = version.Version{}, "", bootstrapv1.RKE2ConfigSpec{}
	return record{
		Version:     in.Version.String(),
		JoinAddress: in.JoinAddress,
		Config:      digest(in.Token, desired.ConfigMeaning(in.Config)),
		Others:      digest(in.Token, mustJSON(others)),
	}
}

// recordOn reads the record on a Secret; the second result is false when there is none that can be read.
func recordOn(secret *corev1.Secret) (record, bool) {
	var found record
	if secret == nil {
		return found, false
	}
	text, ok := secret.Annotations[bootstrapv1.MadeFromAnnotation]
	if !ok || json.Unmarshal([]byte(text), &found) != nil {
		return record{}, false
	}
	return found, true
}

func (m record) annotation() map[string]string {
	return map[string]string{bootstrapv1.MadeFromAnnotation: string(mustJSON(m))}
}

// changes names what is different now, for people.
func (m record) changes(now record) string {
	var out []string
	if m.Version != now.Version {
		out = append(out, fmt.Sprintf("version (%s, before %s)", now.Version, m.Version))
	}
	if m.Config != now.Config {
		out = append(out, "configuration")
	}
	if m.JoinAddress != now.JoinAddress {
		out = append(out, fmt.Sprintf("address to join through (%s, before %s)", now.JoinAddress, m.JoinAddress))
	}
	if m.Config == now.Config && m.Others != now.Others {
		out = append(out, "content of references or settings of the control plane")
	}
	return strings.Join(out, ", ")
}

func annotate(obj client.Object, annotations map[string]string) {
	all := map[string]string{}
	maps.Copy(all, obj.GetAnnotations())
	maps.Copy(all, annotations)
	obj.SetAnnotations(all)
}

func digest(key string, content []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(content)
	return hex.EncodeToString(mac.Sum(nil))
}

// mustJSON marshals values that can't fail to marshal.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("marshal %T: %v", v, err))
	}
	return b
}
