package chunk

func splitHTML(text string, o *Options) ([]Chunk, error) {
	return nil, nil
}
