"""Errors that are meant for people."""


class InputError(ValueError):
    """Something the user gave is wrong.

    The message is one paragraph: what is wrong, where (file, row, key) and what to write instead. Rule scripts and the
    command line print it without a traceback; the traceback goes to the rule's log.
    """
