"""Generation by llama.cpp, through llama-cpp-python's plain bindings; pip install llama-cpp-python (builds natively).

decode FILE CONTEXT TOKENS, prefill FILE LENGTH: as in bench/worker/models.cpp, on the same file.
"""
import ctypes

import llama_cpp as llama

from worker import serve

threads_now = 1
contexts = []


def use_threads(threads):
    global threads_now
    threads_now = threads
    for context in contexts:
        llama.llama_set_n_threads(context, threads, threads)


def open_model(path, length):
    model = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
    if not model:
        raise RuntimeError(f"llama.cpp cannot load {path}")
    params = llama.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = length, max(512, length), 512
    params.n_threads = params.n_threads_batch = threads_now
    context = llama.llama_init_from_model(model, params)
    contexts.append(context)
    count = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
    return context, (llama.llama_token * length)(*((i * 7919 + 1) % count for i in range(length)))


def run(context, ids, begin, count):
    address = ctypes.byref(ids, begin * ctypes.sizeof(llama.llama_token))
    tokens = ctypes.cast(address, ctypes.POINTER(llama.llama_token))
    if llama.llama_decode(context, llama.llama_batch_get_one(tokens, count)) != 0:
        raise RuntimeError("llama_decode failed")
    llama.llama_get_logits(context)  # waits for the result


def make(name, path, *numbers):
    length, tokens = int(numbers[0]), int(numbers[1]) if name == "decode" else 0
    context, ids = open_model(path, length + tokens)
    memory = llama.llama_get_memory(context)

    def prefill():
        llama.llama_memory_clear(memory, False)
        run(context, ids, 0, length)

    def decode():
        llama.llama_memory_seq_rm(memory, 0, length, -1)
        for i in range(tokens):
            run(context, ids, length + i, 1)

    if name == "prefill":
        return prefill
    if length > 0:
        prefill()
    return decode


silent = llama.llama_log_callback(lambda level, text, data: None)
llama.llama_log_set(silent, None)
llama.llama_backend_init()
serve(make, use_threads)
