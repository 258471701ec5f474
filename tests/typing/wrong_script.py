"""Lines that type checkers must refuse, each for another reason; it is never run."""

from cpunmt import Options, Translator

translator = Translator("model")
translator.translate("A dog.", beam_size="4")
translator.translate("A dog.", beams=4)
translator.translate(None)
print(translator.translate(["A dog."]).text)
print(translator.translate("A dog.").test)
translator.translate_batch([["A"]])[0].result()
print(translator.translate_batch([["A"]], asynchronous=True)[0].hypotheses)
translator.score("A dog.", "Ein Hund.", beam_size=4)
Options(beam_size=None)
translator.translate("A dog.", time_limit="60")
translator.translate("A dog.", cancel=True)
translator.generate_text(["A dog."])
translator.translate("A dog.", target_lang=3)
translator.translate("A dog.", retry="bem")
print("sense" in translator.translate("A dog.").doubt)
translator.translate("A dog.", "de")
