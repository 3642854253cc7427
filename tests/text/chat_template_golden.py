#!/usr/bin/env python3
"""Writes chat_template_golden.json: conversations as transformers' apply_chat_template renders them.

    pip install transformers
    python3 tests/text/chat_template_golden.py > tests/text/chat_template_golden.json

The programs are those that the models' tokenizer_config.json publish (plain is this project's own). An entry: name of
the format, what the program says where there is no system message, BOS and EOS, the program, and pairs of messages and
text.
"""
import json

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>'"
          " + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
SMOLLM2 = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
           "{{ '<|im_start|>system\\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\\n'"
           " }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
           "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
LLAMA2 = ("{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message ="
          " messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}"
          "{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
          "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
          "{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message +"
          " '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}"
          "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
          "{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}"
          "{% endfor %}")
LLAMA3 = ("{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' +"
          " message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' %}"
          "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}")
PLAIN = "{% for message in messages %}{{ message['content'] + '\\n' }}{% endfor %}"

FORMATS = [
    ("chatml", "", "<|endoftext|>", "<|im_end|>", CHATML),
    ("chatml", "You are a helpful AI assistant named SmolLM, trained by Hugging Face", "<|im_start|>", "<|im_end|>",
     SMOLLM2),
    ("llama2", "", "<s>", "</s>", LLAMA2),
    ("llama3", "", "<|begin_of_text|>", "<|end_of_text|>", LLAMA3),
    ("plain", "", "<s>", "</s>", PLAIN),
]
TALK = ["What is 2 + 2?", "4.", "  And twice that,\n\tplease? \u00a0\u3000", " 8 \u001f\n", "\u0634\u0643\u0631\u0627 \U0001F389"]


def conversations():
    roles = ["user", "assistant"]
    for system in [[], [{"role": "system", "content": " Answer in one word.\n"}]]:
        for length in (1, 3, 5):
            yield system + [{"role": roles[i % 2], "content": TALK[i]} for i in range(length)]
    yield [{"role": "user", "content": " \u2028 "}]


def main():
    entries = []
    for name, default, bos, eos, program in FORMATS:
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=Tokenizer(models.WordLevel({"x": 0}, unk_token="x")), bos_token=bos, eos_token=eos)
        tokenizer.chat_template = program
        cases = [{"messages": messages,
                  "text": tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)}
                 for messages in conversations()]
        entries.append({"format": name, "default_system": default, "bos": bos, "eos": eos, "program": program,
                        "cases": cases})
    print(json.dumps(entries, indent=1))


if __name__ == "__main__":
    main()
