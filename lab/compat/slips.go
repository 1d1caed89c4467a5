package compat

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// slip is a mistake in a sample for which something of it is refused.
type slip struct {
	// file and kind say which objects it is about.
	file, kind string
	// sentence must appear in the refusal: it names the mistake.
	sentence string
	// why says what is wrong with the manifest, for the table.
	why string
	// onlyStrict is true when it is kubectl's own check that refuses, and kubectl --validate=warn applies the object.
	onlyStrict bool
	// mend makes of the object's spec what its author meant.
	mend func(spec map[string]any)
}

// Files with a slip.
const (
	awsFile         = "examples/templates/aws/cluster-template.yaml"
	metal3File      = "examples/templates/metal3/cluster-template.yaml"
	multusFile      = "examples/templates/docker/enable-multus/rke2controlplane-test.yaml"
	openStackFile   = "examples/templates/openstack/cluster-template.yaml"
	moveFile        = "test/e2e/data/infrastructure/cluster-template-docker-move.yaml"
	deploymentKind  = "MachineDeployment"
	ourControlPlane = "RKE2ControlPlane"
)

// slips are all refusals that are right. Where the object is not Drover's, it is Cluster API that refuses.
var slips = []slip{
	{
		file: awsFile, kind: deploymentKind, sentence: "configRef.apiGroup: Invalid value",
		why:  "its references have an apiGroup with a version in it",
		mend: func(spec map[string]any) { eachReference(spec, dropVersion) },
	},
	{
		file: metal3File, kind: ourControlPlane, sentence: "spec.version",
		why:  "it has no version, and nothing else in the file says which one is meant for the servers",
		mend: func(spec map[string]any) { spec["version"] = version + build },
	},
	{
		file: metal3File, kind: deploymentKind, onlyStrict: true, sentence: `unknown field "spec.template.spec.nodeDrainTimeout"`,
		why: "nodeDrainTimeout was a field of v1beta1 and has no effect",
	},
	{
		file: metal3File, kind: "RKE2ConfigTemplate", onlyStrict: true, sentence: `unknown field "spec.template.spec.agentConfig.version"`,
		why: "agentConfig.version has been no field for long; the version of workers is their MachineDeployment's",
	},
	{
		file: multusFile, kind: ourControlPlane, sentence: "cniMultusEnable",
		why:  "the file exists to be refused: multus needs another network beside it, and it names none",
		mend: func(spec map[string]any) { spec["serverConfig"].(map[string]any)["cni"] = "calico" },
	},
	{
		file: moveFile, kind: "Cluster", sentence: "spec.controlPlaneRef.apiGroup: Required value",
		why:  referencesOfV1Beta1,
		mend: func(spec map[string]any) { eachReference(spec, groupOfVersion) },
	},
	{
		file: moveFile, kind: ourControlPlane, sentence: "spec.machineTemplate.spec.infrastructureRef.apiGroup: Required value",
		why:  referencesOfV1Beta1,
		mend: func(spec map[string]any) { eachReference(spec, groupOfVersion) },
	},
	{
		file: moveFile, kind: deploymentKind, sentence: "configRef.apiGroup: Required value",
		why:  referencesOfV1Beta1,
		mend: func(spec map[string]any) { eachReference(spec, groupOfVersion) },
	},
}

const referencesOfV1Beta1 = "its references have an apiVersion, as in v1beta1, where v1beta2 wants an apiGroup"

// stall is a mistake in a sample that is accepted and cannot work: the control
// plane waits and says why.
type stall slip

// stalls are all of them.
var stalls = []stall{{
	file: openStackFile, kind: ourControlPlane, sentence: "openstack-controlplane",
	why: "infrastructureRef names a template -controlplane, and the file holds one -control-plane",
	mend: func(spec map[string]any) {
		eachReference(spec, func(reference map[string]any) {
			if name, ok := reference["name"].(string); ok {
				reference["name"] = strings.Replace(name, "-controlplane", "-control-plane", 1)
			}
		})
	},
}}

// outdated returns the files of the lists above that are not among the samples.
// Where none of them is, the samples are others, and the lists are not about them.
func outdated(samples []*sample) []string {
	files := map[string]bool{}
	for i := range slips {
		files[slips[i].file] = true
	}
	for i := range stalls {
		files[stalls[i].file] = true
	}
	all := len(files)
	for _, s := range samples {
		delete(files, s.path)
	}
	if len(files) == all {
		return nil
	}
	return slices.Sorted(maps.Keys(files))
}

// find returns the slip that explains a refusal.
func find(file string, o outcome) *slip {
	for i := range slips {
		s := &slips[i]
		if s.file == file && s.kind == o.object.GetKind() && s.onlyStrict == o.onlyStrict && strings.Contains(o.refusal, s.sentence) {
			return s
		}
	}
	return nil
}

func findStall(file string) *stall {
	for i := range stalls {
		if stalls[i].file == file {
			return &stalls[i]
		}
	}
	return nil
}

// mended returns the object as its author meant it.
func (s *slip) mended(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	if spec, ok := o.Object["spec"].(map[string]any); ok && s.mend != nil {
		s.mend(spec)
	}
	return o
}

// explanation is a refusal with the slip that explains it.
type explanation struct {
	*slip
	outcome outcome
}

// quoted is how much is shown of what was said about a slip.
const quoted = 160

// tell makes notes of explanations; kinds with the same slip share one.
func tell(explained []explanation) []string {
	var notes []string
	for len(explained) > 0 {
		first := explained[0]
		same := func(e explanation) bool { return e.why == first.why }
		var kinds []string
		for _, e := range explained {
			if same(e) && !slices.Contains(kinds, e.kind) {
				kinds = append(kinds, e.kind)
			}
		}
		verdict := "refused"
		if first.onlyStrict {
			verdict = "accepted with `kubectl apply --validate=warn` only"
		}
		notes = append(notes, fmt.Sprintf("%s %s: %s (%s)", strings.Join(kinds, ", "), verdict, first.why, first.said()))
		explained = slices.DeleteFunc(explained, same)
	}
	return notes
}

// said is the part of the refusal that names the slip.
func (e explanation) said() string {
	if e.onlyStrict {
		return e.sentence
	}
	return naming(e.outcome.refusal, e.sentence)
}

// naming returns the part of what was said in which the sentence stands, if need be shortened.
func naming(said, sentence string) string {
	for part := range strings.SplitSeq(said, "; ") {
		if !strings.Contains(part, sentence) {
			continue
		}
		if text := []rune(part); len(text) > quoted {
			return string(text[:quoted]) + "…"
		}
		return part
	}
	return sentence
}

// eachReference calls do for every reference to a kind that is somewhere in a spec.
func eachReference(value any, do func(reference map[string]any)) {
	m, ok := value.(map[string]any)
	if !ok {
		return
	}
	if _, ok := m["kind"].(string); ok {
		do(m)
		return
	}
	for _, inner := range m {
		eachReference(inner, do)
	}
}

// dropVersion leaves of an apiGroup what is a group.
func dropVersion(reference map[string]any) {
	if group, ok := reference["apiGroup"].(string); ok {
		reference["apiGroup"], _, _ = strings.Cut(group, "/")
	}
}

// groupOfVersion replaces an apiVersion by its group.
func groupOfVersion(reference map[string]any) {
	if groupVersion, ok := reference["apiVersion"].(string); ok {
		reference["apiGroup"], _, _ = strings.Cut(groupVersion, "/")
		delete(reference, "apiVersion")
	}
}
