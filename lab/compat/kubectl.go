package compat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// kubectlTimeout bounds one run of kubectl, which takes a second or two.
const kubectlTimeout = 5 * time.Minute

// kubectl is the real one. Its defaults are a user's: what it does not find in
// an object's schema it refuses.
type kubectl struct {
	program    string
	kubeconfig string
	cache      string
}

// newKubectl returns a kubectl whose objects without a namespace go to this one.
func newKubectl(program, kubeconfig, dir, namespace string) (*kubectl, error) {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	path := filepath.Join(dir, "kubeconfig-"+namespace)
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &kubectl{program: program, kubeconfig: path, cache: filepath.Join(dir, "cache")}, nil
}

func (k *kubectl) run(ctx context.Context, stdin []byte, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, kubectlTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.program, append([]string{"kubectl", "--kubeconfig", k.kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECTL_KUBERC=false", "KUBECACHEDIR="+k.cache)
	var out, faults bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &faults
	err = cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), ctx.Err())
	}
	return out.String(), faults.String(), err
}

// outcome is what became of one object of a manifest.
type outcome struct {
	object *unstructured.Unstructured
	// change is kubectl's word: created, configured or unchanged; "" when it was refused.
	change string
	// refusal is the sentence with which it was refused.
	refusal string
	// onlyStrict is true when kubectl's own check was all that refused it: with --validate=warn it was accepted.
	onlyStrict bool
}

// apply applies the whole text and returns what became of each object, and the
// API server's warnings. When something is refused, every object is applied
// again by itself, so that each refusal has its object.
func (k *kubectl) apply(ctx context.Context, text []byte, objects []*unstructured.Unstructured, flags ...string) (outcomes []outcome, warnings []string, err error) {
	stdout, stderr, err := k.run(ctx, text, append([]string{"apply", "-f", "-"}, flags...)...)
	warnings = warningsOf(stderr)
	if err == nil {
		outcomes, err = paired(stdout, objects)
		return outcomes, warnings, err
	}
	if !isExit(err) {
		return nil, nil, fmt.Errorf("run kubectl: %w", err)
	}
	for _, o := range objects {
		one, err := k.applyOne(ctx, o, flags)
		if err != nil {
			return nil, nil, err
		}
		outcomes = append(outcomes, one)
	}
	return outcomes, warnings, nil
}

func (k *kubectl) applyOne(ctx context.Context, o *unstructured.Unstructured, flags []string) (outcome, error) {
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		return outcome{}, fmt.Errorf("write %s: %w", describe(o), err)
	}
	args := append([]string{"apply", "-f", "-"}, flags...)
	stdout, stderr, err := k.run(ctx, text, args...)
	if err != nil && !isExit(err) {
		return outcome{}, fmt.Errorf("run kubectl: %w", err)
	}
	result := outcome{object: o}
	if err != nil {
		result.refusal = sentence(stderr)
		if !strings.Contains(stderr, "strict decoding error") {
			return result, nil
		}
		var relaxed error
		stdout, stderr, relaxed = k.run(ctx, text, append(args, "--validate=warn")...)
		switch {
		case isExit(relaxed):
			result.refusal = sentence(stderr)
			return result, nil
		case relaxed != nil:
			return outcome{}, fmt.Errorf("run kubectl: %w", relaxed)
		}
		result.onlyStrict = true
	}
	found, err := paired(stdout, []*unstructured.Unstructured{o})
	if err != nil {
		return outcome{}, err
	}
	result.change = found[0].change
	return result, nil
}

func isExit(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Exited()
}

// paired reads kubectl's lines, one for each object in its order.
func paired(stdout string, objects []*unstructured.Unstructured) ([]outcome, error) {
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != len(objects) {
		return nil, fmt.Errorf("kubectl told of %d objects and not of %d: %s", len(lines), len(objects), stdout)
	}
	outcomes := make([]outcome, len(objects))
	for i, line := range lines {
		name, change, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || !strings.HasSuffix(name, "/"+objects[i].GetName()) {
			return nil, fmt.Errorf("kubectl told of %q where %s was expected", line, describe(objects[i]))
		}
		outcomes[i] = outcome{object: objects[i], change: change}
	}
	return outcomes, nil
}

func warningsOf(stderr string) []string {
	var warnings []string
	for line := range strings.Lines(stderr) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "Warning: "); ok {
			warnings = append(warnings, text)
		}
	}
	return warnings
}

// wrapping is what kubectl and the API server put around the words that matter.
var wrapping = regexp.MustCompile(`Error from server( \(\w+\))?: |error when \w+( patch)?[^:]*"STDIN": |` +
	`for: "STDIN": |admission webhook "[^"]*" denied the request: |^(The )?\S+ ("[^"]*" )?is invalid: ?`)

// sentence makes one line of what kubectl printed about a refusal.
func sentence(stderr string) string {
	var parts []string
	for line := range strings.Lines(stderr) {
		line = wrapping.ReplaceAllString(strings.TrimPrefix(strings.TrimSpace(line), "* "), "")
		if line != "" && !strings.HasPrefix(line, "Warning: ") && !strings.HasPrefix(line, "<nil>: ") {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

// describe names an object for messages.
func describe(o *unstructured.Unstructured) string { return o.GetKind() + " " + o.GetName() }

// join writes objects as one manifest.
func join(objects []*unstructured.Unstructured) ([]byte, error) {
	var text bytes.Buffer
	for _, o := range objects {
		document, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", describe(o), err)
		}
		text.WriteString("---\n")
		text.Write(document)
	}
	return text.Bytes(), nil
}
