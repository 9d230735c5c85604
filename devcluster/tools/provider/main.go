// The Kubernetes provider's program. The upstream one can't be built from its module, which leaves out two embedded
// files; devcluster/build_provider.py makes them beside a copy of this file.
package main

import (
	_ "embed"

	kubernetes "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

var (
	//go:embed schema-embed.json
	schemaJSON []byte
	//go:embed terraform-mapping-embed.json
	terraformMapping []byte
)

func main() {
	kubernetes.Serve("kubernetes", version.Version, schemaJSON, terraformMapping)
}
