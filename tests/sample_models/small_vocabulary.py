"""A small SentencePiece model trained on the spot, with the ids that Marian wants."""

import io

import sentencepiece

# Written for these tests. Enough words for 128 pieces.
TEXT = """\
A small dog runs across the green field and barks at the old farmer.
Ein kleiner Hund rennt über das grüne Feld und bellt den alten Bauern an.
Two women are reading a newspaper in the park, while their children play.
Zwei Frauen lesen im Park eine Zeitung, während ihre Kinder spielen.
The water of the river is cold, but the boy swims to the other side.
Das Wasser des Flusses ist kalt, aber der Junge schwimmt auf die andere Seite.
In 1987 the town had 3,450 inhabitants; today there are "only" 2,906 of them!
Im Jahr 1987 hatte die Stadt 3.450 Einwohner; heute sind es "nur" noch 2.906?
""".splitlines()


def train_vocabulary(path, size=128, **options):
    """Trains a unigram model of `size` pieces and writes it to `path`: </s> is 0, <unk> is 1, no <s>, no <pad>.

    `options` are those of the SentencePiece trainer. The identity normaliser is the default, because Marian's
    (nmt_nfkc) makes the file a hundred times as large.
    """
    model = io.BytesIO()
    settings = {"normalization_rule_name": "identity", "character_coverage": 1.0, **options}
    ids = {"eos_id": 0, "unk_id": 1, "bos_id": -1, "pad_id": -1}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 4),
        model_writer=model,
        vocab_size=size,
        num_threads=1,
        minloglevel=2,
        **{**ids, **settings},
    )
    path.write_bytes(model.getvalue())
    return path
