"""Writes the tokenizers and the models of this folder; README.md says how."""

import base64
import gzip
import json
import os
import random
import shutil
import tempfile

import sentencepiece
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

here = os.path.dirname(os.path.abspath(__file__))
random.seed(5)


def hard_texts():
    """Texts with the corner cases of normalisation and splitting."""
    texts = ["","Hello, world!"," leading and trailing  ","What is the capital of France?","don't can't won't I'm we've","naïve café résumé Ångström","İstanbul'da ISTANBUL ıI","straße GROẞ ẞ","日本語のテキストです。","中文字符和English混合text","한국어 텍스트","안녕하세요 세계","กรุงเทพมหานคร","नमस्ते दुनिया","السَّلامُ عَلَيْكُمْ","שָׁלוֹם עוֹלָם","Привет, мир! Ёлка","Ελληνικά Άά ΐ","e\u0301 e\u0301\u0302 a\u030a","ﬁ ﬂ ﬃ ligatures","①②③ ½ ¾ x² H₂O","Ⅳ ㎏ ㍿ ™ ℃","fullwidth ＡＢＣ１２３！","\u200bzero\u200bwidth\u200d\ufeffjoin","a\u00a0b\u2003c\u3000d","tab\tnew\nline\r\nreturn\x0b\x0c","\x00null\x01control\x7f\x80\x9f","\ufffd replacement \ufffe","soft\u00adhyphen","👍🏽 👨‍👩‍👧‍👦 🇩🇪 ❤️","emoji😀in😀words","𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝒮𝒸𝓇𝒾𝓅𝓉","𠀀𠀁 𪜀 豈 丽","[CLS] and [SEP] [MASK] [PAD] [UNK]","<s> </s> <pad> <unk> <mask>","[cls] [Sep]","[MASK]ed[SEP]x","_underscore__ ▁lower ▁▁one","C++ C# .NET f(x)=x^2 a_b-c.d/e\\f","https://example.com/path?q=1&b=%20#frag","user@example.com","$1,234.56 -12.3e-4 0x1F 1_000","!!!???...---***","a"*100,"a"*101,"a"*250,"supercalifragilisticexpialidocious","antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis","x"*99+"é","ZWNJ می‌خواهم","Việt Nam: Hà Nội, Đà Nẵng","ὈΔΥΣΣΕΎΣ Ὀδυσσεύς ς Σ","ǅ ǆ Ǆ ŉ ǰ","\u0345 \u1e9b\u0323","ё й","क़ ख़","\u1100\u1161\u11a8 \uac01","\u212b \u00c5 A\u030a","’quoted’ “double” «guillemets» „low‟","em—dash en–dash hyphen‐bullet•","¿Qué? ¡Sí!","100% & more @ home #tag ~tilde `tick` ^caret |pipe","{json: [1, 2, \"three\"]}","<html><body>text</body></html>","multiple    spaces   inside","\u2028line\u2029para","½cup 3½","ⅷ ⅧⅨ","ſhort ſ K Å","ⓐⓑⓒ","\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7","\U000E0001tag\U000E007F","\ue000private\U000f0000","unassigned \u0378 \U0001fbff","\u0300starts with accent","a\u0300\u0301\u0302\u0303b","🤦🏼‍♂️","۱۲۳ ٤٥٦ १२३","٪ ؟ ؛","「引用」、。・","～ー〜","ㄅㄆㄇ ㆍ","ꙮ ⸘ ‽","ᚠᛇᚻ","ⲁⲃⲅ","𐍈 𐌰","ᏣᎳᎩ ꮳꮃꭹ","Ɐ ɐ ɑ","ﷺ","ﬀ ﬅ","\u00b5 \u03bc","\u1fff \u2126 Ω","K\u212a","The quick brown fox jumps over the lazy dog. "*12]
    words = "the of and retrieval embedding vector search tokenization unbelievable quantum Zürich Köln naïve 2024 1999-12-31 v1.2.3 foo_bar HTTPServer getURL iPhone O'Neill Müller 東京 московский العربية jumped running hyperparameter transformer's état Øresund Łódź".split()
    separators = [" ", " ", "  ", "\n", "\t", ", ", ". ", "-", "—", "/", " (", ") ", "'", "\u00a0", "。"]
    for _ in range(150):
        texts.append("".join(random.choice(words) + random.choice(separators) for _ in range(random.randint(1, 20))))
    ranges = [(0x20,0x7e)]*4+[(0xa0,0x24f)]*2+[(0x300,0x36f),(0x370,0x52f),(0x590,0x6ff),(0x900,0x97f),(0xe00,0xe7f),(0x1e00,0x1fff),(0x2000,0x22ff),(0x2460,0x24ff),(0x3000,0x30ff),(0x3300,0x33ff),(0x4e00,0x9fff),(0xac00,0xd7a3),(0xf900,0xfaff),(0xfb00,0xfdff),(0xfe00,0xffef),(0x1d400,0x1d7ff),(0x1f300,0x1faff),(0x20000,0x2a6df)]
    for _ in range(200):
        texts.append("".join(chr(random.randint(*random.choice(ranges))) if random.random() < 0.8 else " " for _ in range(random.randint(1, 30))))
    return texts


TEXTS = hard_texts()
PLAIN = [t for t in TEXTS if t.strip() and "\0" not in t]
# printable text to train on, so that the vocabularies know many characters
TRAINING = PLAIN + [" ".join(PLAIN[:90])] * 5


def write(path, value):
    path = os.path.join(here, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(value, file, ensure_ascii=True, separators=(",", ":"))


def template(tokenizer, cls, sep, double=False):
    ids = [(t, tokenizer.token_to_id(t)) for t in (cls, sep)]
    second = "0" if double else "1"
    between = f"{sep} {sep}" if double else sep
    return processors.TemplateProcessing(single=f"{cls} $A {sep}", pair=f"{cls} $A {between} $B:{second} {sep}:{second}", special_tokens=ids)


def wordpiece(size, lowercase=True, texts=TRAINING):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    t.post_processor = template(t, "[CLS]", "[SEP]")
    return t


def unigram(size, charsmap, texts=TRAINING):
    """A tokenizer as that of XLM-RoBERTa, with the real table of nmt_nfkc or a small one."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = os.path.join(folder, "corpus.txt")
        with open(corpus, "w") as file:
            file.write("\n".join(" ".join(t.split()) for t in texts[:240]))
        rules = {}
        if not charsmap:
            rules["normalization_rule_tsv"] = os.path.join(folder, "rules.tsv")
            with open(rules["normalization_rule_tsv"], "w") as file:
                for a, b in [("Ａ", "A"), ("ﬁ", "fi"), ("e\u0301", "\u00e9"), ("½", "1/2"), ("\u200b", " ")]:
                    file.write(" ".join(f"{ord(c):04X}" for c in a) + "\t" + " ".join(f"{ord(c):04X}" for c in b) + "\n")
        sentencepiece.SentencePieceTrainer.train(
            input=corpus, model_prefix=os.path.join(folder, "m"), vocab_size=size, character_coverage=0.98,
            hard_vocab_limit=False, max_sentence_length=1000000, minloglevel=2, **rules)
        proto = sentencepiece_model_pb2.ModelProto()
        with open(os.path.join(folder, "m.model"), "rb") as file:
            proto.ParseFromString(file.read())
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + [(p.piece, round(p.score, 4)) for p in proto.pieces[3:]] + [("<mask>", 0.0)]
    t = Tokenizer(models.Unigram(pieces, unk_id=3))
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    t.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    from tokenizers import AddedToken
    t.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    t.post_processor = template(t, "<s>", "</s>", double=True)
    return t


def bytelevel(size, texts=TRAINING):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    from tokenizers import AddedToken
    t.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")))
    return t


def expected(name, t):
    """Writes a tokenizer, compressed, with the tokens of all texts and of some pairs."""
    folder = os.path.join(here, "tokenizers")
    os.makedirs(folder, exist_ok=True)
    with gzip.GzipFile(os.path.join(folder, name + ".json.gz"), "wb", mtime=0) as file:
        file.write(t.to_str().encode())
    pairs = []
    for a, b, limit in [(3, 4, 100), (90, 91, 30), (91, 90, 30), (4, 90, 20), (90, 4, 20), (90, 92, 21), (0, 3, 10), (90, 90, 4)]:
        t.enable_truncation(limit)
        e = t.encode(TEXTS[a], TEXTS[b])
        pairs.append({"a": TEXTS[a], "b": TEXTS[b], "limit": limit, "ids": e.ids, "types": e.type_ids})
    t.no_truncation()
    write(f"tokenizers/{name}.expected.json", {"ids": [t.encode(x).ids for x in TEXTS], "pairs": pairs})


def tokenizers():
    write("tokenizers/texts.json", TEXTS)
    expected("wordpiece", wordpiece(4000))
    expected("wordpiece-cased", wordpiece(4000, lowercase=False))
    expected("unigram", unigram(2600, charsmap=True))
    metaspace = unigram(2600, charsmap=True)
    metaspace.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    metaspace.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()])
    expected("metaspace-first", metaspace)
    expected("bytelevel", bytelevel(3000))


SENTENCES = ["What is the capital of France?", "Paris is the capital and largest city of France.", "naïve café, 東京 1999-12-31!", "x", "The quick brown fox jumps over the lazy dog. " * 12]
ENGLISH = SENTENCES + [t for t in PLAIN[:60] if t.isascii()]


def fast(t, **tokens):
    return PreTrainedTokenizerFast(tokenizer_object=t, model_max_length=64, **tokens)


BERT = dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", model_input_names=["input_ids", "token_type_ids", "attention_mask"])
ROBERTA = dict(pad_token="<pad>", unk_token="<unk>", cls_token="<s>", sep_token="</s>", mask_token="<mask>", bos_token="<s>", eos_token="</s>")
SMALL = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40)


def transformer(folder, kind, config, t):
    """Saves a random model with weights large enough that errors show."""
    torch.manual_seed(len(folder))
    model = kind(config).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() > 1:
                p.normal_(0, 0.15)
            else:
                p.add_(torch.randn_like(p) * 0.1)
    model.save_pretrained(folder)
    t.save_pretrained(folder)


def slim(folder):
    """Removes what no reader needs."""
    for name in ["README.md", "training_args.bin"]:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            os.remove(path)


def sentence(name, kind, config, t, pooling, extra=(), limit=64, prompts=None, dtype=None):
    folder = os.path.join(here, "models", name)
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as base:
        transformer(base, kind, config, t)
        modules = [Transformer(base, max_seq_length=limit), Pooling(config.hidden_size if hasattr(config, "hidden_size") else config.dim, pooling_mode=pooling), *extra]
        model = SentenceTransformer(modules=modules, prompts=prompts, device="cpu")
        model.save(folder)
    slim(folder)
    if dtype:
        path = os.path.join(folder, "model.safetensors")
        save_file({k: v.to(dtype) for k, v in load_file(path).items()}, path, metadata={"format": "pt"})
        model = SentenceTransformer(folder, device="cpu", model_kwargs={"torch_dtype": torch.float32})
        model = model.float()
    vectors = {}
    for purpose, encode in [("document", model.encode_document), ("question", model.encode_query)]:
        vectors[purpose] = [[round(float(x), 8) for x in v] for v in encode(SENTENCES)]
    write(f"models/{name}/expected.json", {"texts": SENTENCES, **vectors})


PAIRS = [(SENTENCES[0], s) for s in SENTENCES[1:]] + [(SENTENCES[4], SENTENCES[4])]


def cross(name, kind, config, t, activation):
    folder = os.path.join(here, "models", name)
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as base:
        config.num_labels = 1
        transformer(base, kind, config, t)
        model = CrossEncoder(base, device="cpu", max_length=64, activation_fn=activation)
        model.save_pretrained(folder)
    slim(folder)
    model = CrossEncoder(folder, device="cpu")
    write(f"models/{name}/expected.json", {"pairs": PAIRS, "scores": [round(float(x), 8) for x in model.predict(PAIRS)]})


def main():
    tokenizers()
    t = wordpiece(300, texts=ENGLISH)
    bert = lambda **more: transformers.BertConfig(vocab_size=t.get_vocab_size(), max_position_embeddings=64, **{**SMALL, **more})
    sentence("bert-mean", transformers.BertModel, bert(), fast(t, **BERT), "mean", [Normalize()])
    sentence("bert-mean-f16", transformers.BertModel, bert(), fast(t, **BERT), "mean", [Normalize()], dtype=torch.float16)
    sentence("bert-mean-bf16", transformers.BertModel, bert(), fast(t, **BERT), "mean", [Normalize()], dtype=torch.bfloat16)
    sentence("bert-cls-dense", transformers.BertModel, bert(num_attention_heads=3), fast(t, **BERT), "cls", [Dense(24, 20)], prompts={"query": "find: ", "document": "text: "})
    sentence("bert-max", transformers.BertModel, bert(), fast(t, **BERT), "max", limit=20)
    sentence("distilbert", transformers.DistilBertModel, transformers.DistilBertConfig(vocab_size=t.get_vocab_size(), max_position_embeddings=64, dim=32, n_layers=2, n_heads=2, hidden_dim=64), fast(t, **BERT), "mean_sqrt_len_tokens")
    u = unigram(300, charsmap=False, texts=ENGLISH)
    xlm = lambda kind, **more: kind(vocab_size=u.get_vocab_size(), max_position_embeddings=66, pad_token_id=1, type_vocab_size=1, **{**SMALL, **more})
    sentence("xlm-roberta", transformers.XLMRobertaModel, xlm(transformers.XLMRobertaConfig), fast(u, **ROBERTA), "mean", [Normalize()], prompts={"query": "query: ", "passage": "passage: "})
    sentence("mpnet", transformers.MPNetModel, transformers.MPNetConfig(vocab_size=u.get_vocab_size(), max_position_embeddings=66, pad_token_id=1, **SMALL), fast(u, **ROBERTA), "mean", [Normalize()])
    cross("cross-bert", transformers.BertForSequenceClassification, bert(), fast(t, **BERT), torch.nn.Sigmoid())
    cross("cross-bert-logits", transformers.BertForSequenceClassification, bert(), fast(t, **BERT), torch.nn.Identity())
    untyped = {k: v for k, v in BERT.items() if k != "model_input_names"}
    cross("cross-bert-untyped", transformers.BertForSequenceClassification, bert(), fast(t, **untyped), torch.nn.Sigmoid())
    cross("cross-xlm-roberta", transformers.XLMRobertaForSequenceClassification, xlm(transformers.XLMRobertaConfig), fast(u, **ROBERTA), torch.nn.Sigmoid())
    cross("cross-distilbert", transformers.DistilBertForSequenceClassification, transformers.DistilBertConfig(vocab_size=t.get_vocab_size(), max_position_embeddings=64, dim=32, n_layers=2, n_heads=2, hidden_dim=64), fast(t, **BERT), torch.nn.Sigmoid())


main()
