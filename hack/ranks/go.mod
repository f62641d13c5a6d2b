module github.com/ragdhq/ragd/hack/ranks

go 1.26.8

require (
	github.com/klauspost/compress v1.20.1
	github.com/tiktoken-go/tokenizer v0.10.0
)

require github.com/dlclark/regexp2/v2 v2.5.1 // indirect
