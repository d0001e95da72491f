//go:build !minimal

package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// init adds what it takes for controllers and nodes.
func init() {
	programs["kube-controller-manager"] = func() { os.Exit(cli.Run(controllermanager.NewControllerManagerCommand())) }
	programs["kube-scheduler"] = func() { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) }
	programs["kubelet"] = func() { os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background()))) }
	programs["kube-proxy"] = func() { os.Exit(cli.Run(proxy.NewProxyCommand())) }
}
