package chunk

func splitMarkdownHeaders(text string, o *Options) ([]Chunk, error) {
	return nil, nil
}
