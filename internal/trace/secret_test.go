package trace_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/trace"
)

// texts are all fields of a record that hold text. None may ever hold the
// content of a Secret: they are names, addresses, versions, words of a fixed
// list, and sentences for people, which stand in conditions and events as
// well. Whoever adds one adds it here, and thinks of that.
var texts = []string{
	"AskForMemberRemoval.Machine",
	"Blocker.Kind", "Blocker.Name", "Blocker.Unblock",
	"Cluster.CertificateProblem", "Cluster.Endpoint", "Cluster.FailureDomains", "Cluster.Name", "Cluster.PendingVersion", "Cluster.RegistrationAddress", "Cluster.TemplateName",
	"ControlPlane.Name", "ControlPlane.Namespace", "ControlPlane.Problems", "ControlPlane.RolloutHeld", "ControlPlane.Version",
	"CreateMachine.FailureDomain", "CreateMachine.Purpose",
	"Decision.Rule",
	"DeleteMachine.Machine", "DeleteMachine.Why",
	"DropHooks.Machine",
	"Etcd.Path",
	"ExcludeFromLoadBalancers.Machine",
	"Fact.Reason",
	"Hook.Name", "Hook.Owner",
	"Machine.Addresses", "Machine.Components", "Machine.Detail", "Machine.FailureDomain", "Machine.Name", "Machine.NodeName", "Machine.Outdated",
	"Machine.Phase", "Machine.UID", "Machine.Version",
	"Mark.Why",
	"Member.Alarms", "Member.Machine", "Member.Name", "Member.Path", "Member.PeerURLs", "Member.Version",
	"MoveLeader.FromName", "MoveLeader.ToName",
	"Record.ControlPlane", "Record.UID",
	"ReleasePreDrainHook.Machine", "ReleasePreTerminateHook.Machine",
	"Remediation.Machine",
	"RemoveMember.Ground", "RemoveMember.Machine", "RemoveMember.Name",
	"RestoreHooks.Machine",
	"Result.Reason", "Result.State",
	"Wait.Machine", "Wait.Message", "Wait.Rule",
}

func TestEveryTextIsKnown(t *testing.T) {
	found := map[string]bool{}
	collect(t, reflect.TypeFor[trace.Record](), "Record", found)
	for _, a := range model.Actions() {
		collect(t, reflect.TypeOf(a), "", found)
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, texts) {
		t.Errorf("the fields with text are\n%s\nand known are\n%s", strings.Join(got, "\n"), strings.Join(texts, "\n"))
	}
}

// collect finds the fields below a type that hold text, and refuses types that
// could hold anything.
func collect(t *testing.T, of reflect.Type, field string, found map[string]bool) {
	switch of.Kind() {
	case reflect.String:
		found[field] = true
	case reflect.Struct:
		if of.PkgPath() == "time" {
			return
		}
		name, _, _ := strings.Cut(of.Name(), "[")
		for f := range of.Fields() {
			collect(t, f.Type, name+"."+f.Name, found)
		}
	case reflect.Pointer:
		collect(t, of.Elem(), field, found)
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			t.Errorf("%s holds bytes", field)
		}
		collect(t, of.Elem(), field, found)
	case reflect.Map:
		collect(t, of.Key(), field, found)
		collect(t, of.Elem(), field, found)
	case reflect.Interface:
		if of != reflect.TypeFor[model.Action]() {
			t.Errorf("%s may hold anything", field)
		}
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64:
	default:
		t.Errorf("%s is of the kind %s", field, of.Kind())
	}
}
