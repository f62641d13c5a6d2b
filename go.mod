module github.com/ragdhq/ragd

go 1.26.8

require (
	connectrpc.com/connect v1.21.1
	github.com/google/go-cmp v0.7.0
	google.golang.org/protobuf v1.36.12
)
