// Command testbed is etcd, the Kubernetes programs and kubectl in one binary. Built with the tag "minimal", it has no
// more than etcd, kube-apiserver and kubectl.
//
// The program is picked by the name the binary was called by (a link named "kubectl" is kubectl)
// or else by the first argument ("testbed kubectl get pods").
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

var programs = map[string]func(){
	"etcd":           func() { etcdmain.Main(os.Args) },
	"kube-apiserver": func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kubectl": func() {
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
	},
}

func main() {
	endWithParent()
	run := programs[filepath.Base(os.Args[0])]
	if run == nil && len(os.Args) > 1 {
		run = programs[os.Args[1]]
		os.Args = os.Args[1:]
	}
	if run == nil {
		fmt.Fprintln(os.Stderr, "usage: testbed etcd|kube-apiserver|kubectl|... [flags]")
		os.Exit(2)
	}
	run()
}

// endWithParent ends this process soon after the one named in TESTBED_PARENT_PID has gone, however
// it went. Polling is enough here: unlike a parent-death signal it works on every Unix and does not
// depend on which thread of the parent started us.
func endWithParent() {
	parent, err := strconv.Atoi(os.Getenv("TESTBED_PARENT_PID"))
	if err != nil {
		return
	}
	go func() {
		for os.Getppid() == parent {
			time.Sleep(200 * time.Millisecond)
		}
		os.Exit(1)
	}()
}
