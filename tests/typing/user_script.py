"""A user's script, as type checkers see it; it is run too."""

import json
import sys
import threading
from collections.abc import Iterator

from typing_extensions import Unpack, assert_type

import cpunmt
from cpunmt import Options, Result, ScoringResult, Sentence, TranslationOptions, TranslationResult, Translator

translator = Translator(sys.argv[1], inter_threads=2)
one = assert_type(translator.translate("A dog."), Result)
many = assert_type(translator.translate(["A dog.", "A man."]), list[Result])
print(one.text.upper(), round(one.score, 3), one.truncated, len(many))

best = translator.translate("Two dogs.", beam_size=4, num_hypotheses=2, return_alignments=True)
english = Translator(sys.argv[1], source_lang="English")
assert_type(english.translate(["A dog."], source_lang="en", target_lang="German"), list[Result])
for source, target in best.alignments or []:
    print((best.source_pieces or ())[source], best.pieces[target])
if best.attention is not None:
    print(best.attention.sum(axis=1).tolist())
again = translator.translate("In 2019 they had 345 dogs. A dog.", retry="beam")
if "numbers" in again.doubts or again.retried:
    print([(sentence.source, names) for sentence, names in zip(again.sentences, again.doubts_by_sentence, strict=True)])
print([hypothesis.text for hypothesis in best.hypotheses], json.dumps(best.to_dict()))

several = translator.translate("A dog. A man.", split=lambda text: [(0, 6), (7, len(text))], return_alignments=True)
for sentence in assert_type(several.sentences, tuple[Sentence, ...]):
    print(several.text[slice(*sentence.target)], sentence.score, sentence.truncated, sentence.alignments or [])
assert_type(translator.translate(["A dog."], split="paragraph"), list[Result])

assert_type(translator.translate("A dog.", target_prefix="Ein", options=Options(beam_size=2), split="line"), Result)
pieces = [translator.tokenize("A dog."), translator.tokenize("A man.")]
done = assert_type(translator.translate_batch(pieces, return_scores=True), list[TranslationResult])
later = translator.translate_batch(pieces, [["▁Ein"], None], asynchronous=True, max_decoding_length=9)
assert_type(later[0].result(), TranslationResult)
either = translator.translate_batch(pieces, asynchronous=len(sys.argv) > 9)
assert_type(either, list[TranslationResult] | list[cpunmt.AsyncResult[TranslationResult]])
scores = translator.score_batch(pieces, pieces, asynchronous=len(sys.argv) > 9)
assert_type(scores, list[ScoringResult] | list[cpunmt.AsyncResult[ScoringResult]])
print(done[0].hypotheses[0], done[0].scores[0], later[0].done(), translator.detokenize(done[1].hypotheses[0]))


def shouted(lines: Iterator[str], **options: Unpack[TranslationOptions]) -> Iterator[str]:
    for result in translator.translate_iterable(lines):
        yield assert_type(result, Result).text.upper()
    yield translator.translate("The end.", **options).text


for number, result in translator.translate_iterable(["A dog."], ordered=False):
    print(assert_type(number, int), assert_type(result, Result).text)
for _, made in translator.translate_iterable(pieces, ordered=False, beam_size=2):
    print(assert_type(made, TranslationResult).hypotheses)
print(list(shouted(iter(["A dog.\n", "A man.\n"]), length_penalty=0.6)))
scored = assert_type(translator.score("A dog.", "Ein Hund."), ScoringResult)
print(scored.log_probs, sum(result.score for result in translator.score(["A dog."], ["Ein Hund."])))
print([result.log_prob for result in translator.score_iterable(pieces, done[0].hypotheses + done[1].hypotheses)])
print([step.token for step in translator.generate_tokens(pieces[0], min_decoding_length=1, return_log_prob=True)])
print("".join(translator.generate_text("A dog. A man.", split="line", cancel=threading.Event())))
told: list[str] = []
for done_ in translator.translate_iterable(pieces, callback=lambda step: told.append(step.token), time_limit=60):
    print(assert_type(done_, TranslationResult).hypotheses, told)
try:
    translator.translate(["A dog."], time_limit=0, cancel=lambda: False)
except cpunmt.TimeLimitError as error:
    print(error)
dropped = translator.translate_batch(pieces, asynchronous=True, time_limit=60)[0]
print(assert_type(dropped.cancel(), bool), dropped.cancelled())
print(cpunmt.contains_model(sys.argv[1]), sorted(cpunmt.get_supported_compute_types("cpu")), translator.compute_type)
