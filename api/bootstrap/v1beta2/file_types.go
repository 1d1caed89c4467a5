package v1beta2

// Encoding says how the content of a File is encoded in the API object.
// +kubebuilder:validation:Enum=base64;gzip;gzip+base64
type Encoding string

const (
	// Base64 means the content is base64.
	Base64 Encoding = "base64"
	// Gzip means the content is compressed with gzip.
	Gzip Encoding = "gzip"
	// GzipBase64 means the content is compressed with gzip and then encoded as base64.
	GzipBase64 Encoding = "gzip+base64"
)

// File is one file written to the machine before RKE2 is installed.
type File struct {
	// path is the absolute path of the file on the machine.
	// +required
	Path string `json:"path"`

	// owner is the owner of the file, as user or user:group, for example "root:root".
	// +optional
	Owner string `json:"owner,omitempty"`

	// permissions are the octal permission bits of the file, for example "0640".
	// +optional
	Permissions string `json:"permissions,omitempty"`

	// encoding of content. Not set means plain text. With format ignition only base64 works.
	// +optional
	Encoding Encoding `json:"encoding,omitempty"`

	// content is the content of the file, given literally.
	// +optional
	Content string `json:"content,omitempty"`

	// contentFrom names the Secret or ConfigMap the content is read from. It wins over content.
	// +optional
	ContentFrom *FileSource `json:"contentFrom,omitempty"`
}

// FileSource names where the content of a File is read from: exactly one of a Secret and a ConfigMap.
// +kubebuilder:validation:XValidation:rule="!(has(self.secret) && has(self.configMap))",message="Only configMap or secret can be populated at once"
type FileSource struct {
	// secret is the key of a Secret.
	// +optional
	Secret *FileSourceRef `json:"secret,omitempty"`

	// configMap is the key of a ConfigMap.
	// +optional
	ConfigMap *FileSourceRef `json:"configMap,omitempty"`
}

// FileSourceRef names one key of a Secret or ConfigMap.
type FileSourceRef struct {
	// name of the Secret or ConfigMap.
	// +required
	Name string `json:"name"`

	// key inside it. An empty value is an error.
	// +required
	Key string `json:"key"`

	// namespace of the Secret or ConfigMap. Not set means the namespace of the RKE2Config.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}
