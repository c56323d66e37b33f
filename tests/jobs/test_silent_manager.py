import threading

from mixmood.jobs import local


def ended_with(error, name, printed, monkeypatch):
    """What is printed of a thread of this name that ends with an error."""
    monkeypatch.setattr(threading, "excepthook", lambda args: printed.append(args.exc_type))

    def fail():
        raise error

    with local.silent_manager():
        thread = threading.Thread(target=fail, name=name)
        thread.start()
        thread.join()
    return printed


def test_a_key_error_of_lokys_thread_is_not_printed(monkeypatch):
    assert ended_with(KeyError(1), local.MANAGER, [], monkeypatch) == []


def test_other_errors_and_those_of_other_threads_are_printed(monkeypatch):
    assert ended_with(ValueError(), local.MANAGER, [], monkeypatch) == [ValueError]
    assert ended_with(KeyError(1), "another", [], monkeypatch) == [KeyError]


def test_lokys_thread_has_the_name_that_is_looked_for():
    from joblib.externals.loky.process_executor import _ExecutorManagerThread

    assert local.MANAGER in _ExecutorManagerThread.__init__.__code__.co_consts
