"""The recipes for data frames in the documentation."""

import json

import pandas
import polars

TEXTS = ["A dog.", None, "Two men."]


def test_pandas(student):
    df, translator = pandas.DataFrame({"en": TEXTS}, index=[3, 5, 9]), student
    # a column, where there is text
    known = df["en"].notna()
    df.loc[known, "de"] = [result.text for result in translator.translate(df.loc[known, "en"])]
    assert df["de"].tolist()[::2] == ["Ein Hund.", "Zwei Männer."] and df["de"].isna().tolist() == [False, True, False]
    # several columns
    results = translator.translate(df["en"].fillna(""))
    table = pandas.DataFrame([result.to_dict() for result in results], index=df.index)
    df = df.join(table[["text", "score", "truncated"]])
    assert df["text"].tolist() == ["Ein Hund.", "", "Zwei Männer."] and df.loc[3, "score"] == results[0].score
    assert df["truncated"].sum() == 0


def test_a_large_file_in_chunks(student, tmp_path):
    translator = student
    pandas.DataFrame({"en": ["A dog.", "Two men."] * 50}).to_csv(tmp_path / "en.csv", index=False)
    with open(tmp_path / "de.csv", "w", encoding="utf8") as out:
        for number, chunk in enumerate(pandas.read_csv(tmp_path / "en.csv", chunksize=30)):
            chunk["de"] = [result.text for result in translator.translate(chunk["en"])]
            chunk.to_csv(out, header=number == 0, index=False)
    assert pandas.read_csv(tmp_path / "de.csv")["de"].tolist() == ["Ein Hund.", "Zwei Männer."] * 50


def test_polars(student):
    df, translator = polars.DataFrame({"en": TEXTS}), student
    # a column, where there is text
    df = df.with_columns(
        de=polars.col("en")
        .fill_null("")
        .map_batches(
            lambda texts: polars.Series([result.text for result in translator.translate(texts)]),
            return_dtype=polars.String,
        )
    )
    assert df["de"].to_list() == ["Ein Hund.", "", "Zwei Männer."]
    # several columns
    table = polars.DataFrame([result.to_dict() for result in translator.translate(df["en"].fill_null(""))])
    df = df.hstack(table.select("score", "truncated"))
    assert df.columns == ["en", "de", "score", "truncated"] and df["truncated"].to_list() == [False] * 3


def test_lines_of_json(student, tmp_path):
    translator = student
    with open(tmp_path / "out.jsonl", "w", encoding="utf8") as out:
        for result in translator.translate_iterable(["A dog.", "Two men."]):
            out.write(json.dumps(result.to_dict(), ensure_ascii=False) + "\n")
    assert polars.read_ndjson(tmp_path / "out.jsonl")["text"].to_list() == ["Ein Hund.", "Zwei Männer."]
