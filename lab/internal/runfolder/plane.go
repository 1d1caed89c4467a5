package runfolder

// Plane is what one management cluster has in a run folder.
type Plane struct {
	folder Folder
	name   string
}

// Plane returns the place of the named management cluster; the first one has
// the name "".
func (f Folder) Plane(name string) Plane { return Plane{folder: f, name: name} }

// Kubeconfig is the admin kubeconfig of the management cluster; its address is
// reached from inside the lab only.
func (p Plane) Kubeconfig() string { return p.folder.path(p.suffixed("kubeconfig")) }

// Data holds the certificates and data of the management cluster.
func (p Plane) Data() string { return p.folder.path(p.suffixed("management")) }

// Log is the log file of a process of the management cluster.
func (p Plane) Log(process string) string {
	if p.name != "" {
		process = p.name + "-" + process
	}
	return p.folder.Log(process)
}

func (p Plane) suffixed(file string) string {
	if p.name != "" {
		return file + "-" + p.name
	}
	return file
}
