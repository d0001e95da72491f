// Command kstatus reads Kubernetes objects, one JSON document after the other, and answers what kstatus makes of each:
// one line of JSON with its status and message.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type verdict struct {
	Status  status.Status `json:"status"`
	Message string        `json:"message"`
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		document := json.RawMessage{}
		if err := in.Decode(&document); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		object := unstructured.Unstructured{}
		if err := object.UnmarshalJSON(document); err != nil {
			log.Fatal(err)
		}
		result, err := status.Compute(&object)
		if err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(verdict{result.Status, result.Message}); err != nil {
			log.Fatal(err)
		}
	}
}
