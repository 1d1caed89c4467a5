package standin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/drover-project/drover/lab/internal/standin/supervisor"
)

// passwordFile holds a node's password: whoever knows it may register under the node's name again.
const passwordFile = "/etc/rancher/node/password"

// passwordKey is where a Secret of a password has its hash.
const passwordKey = "hash"

// passwordSecret is the name of the Secret with the hash of a node's password, in kube-system.
func passwordSecret(node string) string { return strings.ToLower(node) + ".node-password.rke2" }

// nodePassword gives the machine's own password, which it makes at its first start.
func nodePassword() (string, error) {
	data, err := os.ReadFile(passwordFile)
	if err == nil {
		return strings.TrimSpace(string(data)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("node password: %w", err)
	}
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	password := hex.EncodeToString(random)
	if err := os.MkdirAll(filepath.Dir(passwordFile), 0o700); err != nil {
		return "", fmt.Errorf("node password: %w", err)
	}
	if err := os.WriteFile(passwordFile, []byte(password+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("node password: %w", err)
	}
	return password, nil
}

// passwordHash is plainer than RKE2's, which nobody else reads either.
func passwordHash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

// EnsurePassword implements supervisor.Backend: the first one to register under a name sets its password, until the Node
// is deleted.
func (s *server) EnsurePassword(ctx context.Context, node, password string) error {
	secrets := s.kube.CoreV1().Secrets(metav1.NamespaceSystem)
	known, err := secrets.Get(ctx, passwordSecret(node), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		known, err = secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: passwordSecret(node)},
			Data:       map[string][]byte{passwordKey: []byte(passwordHash(password))},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("password of node %s: %w", node, err)
	}
	if string(known.Data[passwordKey]) != passwordHash(password) {
		return fmt.Errorf("%w %s: hash does not match", supervisor.ErrPassword, node)
	}
	return nil
}

// ensureOwnPassword does the same for the server's own node. RKE2 does so once the API server answers; when the server
// joins it only complains, and when it starts again it does not get past it.
func (s *server) ensureOwnPassword(ctx context.Context, startsAgain bool) error {
	password, err := nodePassword()
	if err != nil {
		return err
	}
	err = s.EnsurePassword(ctx, s.name, password)
	if errors.Is(err, supervisor.ErrPassword) && !startsAgain {
		s.log.Warn("deferred node password validation failed", "error", err)
		return nil
	}
	return err
}

// forgetPassword is done when a Node is deleted.
func (s *server) forgetPassword(ctx context.Context, node string) error {
	err := s.kube.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, passwordSecret(node), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("forget password of node %s: %w", node, err)
	}
	return nil
}
