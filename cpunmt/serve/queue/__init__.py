"""The queue of a server: waiting sentences, workers, and a cache of translations."""
