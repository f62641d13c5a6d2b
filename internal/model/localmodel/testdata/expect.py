"""Writes expected.json into the folder of a real model: what PyTorch computes for the texts here."""

import json
import os
import sys

from sentence_transformers import CrossEncoder, SentenceTransformer

folder = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "tokenizers", "texts.json")) as file:
    texts = [t for t in json.load(file) if t.strip() and "\0" not in t]
with open(os.path.join(folder, "config.json")) as file:
    classifies = any(a.endswith("ForSequenceClassification") for a in json.load(file).get("architectures") or [])
if classifies:
    pairs = [["What is the capital of France?", t] for t in texts]
    out = {"pairs": pairs, "scores": [float(x) for x in CrossEncoder(folder, device="cpu").predict(pairs)]}
else:
    model = SentenceTransformer(folder, device="cpu")
    vectors = [[[float(x) for x in v] for v in encode(texts)] for encode in (model.encode_document, model.encode_query)]
    out = {"texts": texts, "document": vectors[0], "question": vectors[1]}
with open(os.path.join(folder, "expected.json"), "w") as file:
    json.dump(out, file)
