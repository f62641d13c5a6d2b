module github.com/ragdhq/ragd

go 1.26.8

require github.com/google/go-cmp v0.7.0

require (
	github.com/clipperhouse/uax29/v2 v2.7.0
	github.com/tiktoken-go/tokenizer v0.10.0
	golang.org/x/net v0.61.0
)

require github.com/dlclark/regexp2/v2 v2.5.1 // indirect
