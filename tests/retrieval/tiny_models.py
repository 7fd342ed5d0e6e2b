"""Real models of sentence-transformers, tiny and with random weights, made by the test that needs them."""

from tests.retrieval.fakes import passages

WORDS = tuple("the a of is plan deductible vaccine office visit copay covered paid month dress code balance".split())
CORPUS = passages(
    "the plan deductible is paid", "a vaccine is covered", "the office dress code", "a copay of the visit is paid",
    "balance of the plan", document_id="a",
)  # fmt: skip


def tokenizer(folder):
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    vocabulary = {word: number for number, word in enumerate((*special, *".,:?!", "Ask", "Text", *WORDS))}
    made = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = BertPreTokenizer()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=64,
    )  # fmt: skip
    fast.save_pretrained(folder)
    return len(vocabulary)


def bert(folder, *, labels=None, seed=0):
    """Save a BERT with two small layers; with a head for `labels` numbers where asked for."""
    if labels:
        return bert_with("BertForSequenceClassification", folder, seed=seed, num_labels=labels)
    return bert_with("BertModel", folder, seed=seed)


def bert_with(head, folder, *, seed=0, **options):
    """Save a BERT with two small layers and the head of this class of transformers."""
    import torch
    import transformers

    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=tokenizer(folder), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64, initializer_range=0.5, **options,
    )  # fmt: skip
    getattr(transformers, head)(config).eval().save_pretrained(folder)
    return folder


def sentence_transformer(folder, seed=0, **options):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    transformer = Transformer(str(bert(folder / "bert", seed=seed)))
    modules = [transformer, Pooling(transformer.get_embedding_dimension())]
    SentenceTransformer(modules=modules, device="cpu", **options).save_pretrained(str(folder / "model"))
    return folder / "model"


def causal_sentence_transformer(folder):
    """Save one with a Qwen3: a token sees only those before it, and there are fewer keys than queries."""
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    torch.manual_seed(0)
    config = transformers.Qwen3Config(
        vocab_size=tokenizer(folder / "qwen"), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, intermediate_size=64, max_position_embeddings=64, initializer_range=0.5,
    )  # fmt: skip
    transformers.Qwen3Model(config).eval().save_pretrained(folder / "qwen")
    transformer = Transformer(str(folder / "qwen"))
    modules = [transformer, Pooling(transformer.get_embedding_dimension())]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(folder / "model"))
    return folder / "model"


def multi_vector_encoder(folder):
    """Save a ColBERT with a projection to 16 dimensions."""
    import torch
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    transformer = Transformer(str(bert(folder / "bert")))
    torch.manual_seed(1)
    dense = Dense(
        in_features=32, out_features=16, bias=False, activation_function=torch.nn.Identity(),
        module_input_name="token_embeddings",
    )  # fmt: skip
    modules = [transformer, dense, MultiVectorMask(), Normalize(module_input_name="token_embeddings")]
    MultiVectorEncoder(modules=modules, device="cpu").save_pretrained(str(folder / "colbert"))
    return folder / "colbert"
