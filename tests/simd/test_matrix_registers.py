"""Matrix registers belong to a thread, and Linux must allow them; threads, forks and signals do not disturb them."""

import faulthandler
import os
import signal
import threading

import numpy as np
import pytest

from cpunmt.kernels.matmul.int8_matmul import AFFINE, INTEGERS
from cpunmt.simd import isa
from cpunmt.simd.isa import Isa
from tests.definitions.matmul import stored_bytes
from tests.kernels.test_int8_matmul import multiply, random_operands, random_scales
from tests.sample_models.real_model import DIRECTORIES
from tests.simd import matrix_state
from tests.support.float_steps import same_bits
from tests.support.guarded import Guards
from tests.support.packed_linear import int8_record
from tests.support.processes import python
from tests.support.side_by_side import in_threads

AMX = pytest.mark.skipif(Isa.AMX_INT8 not in isa.supported(), reason="this machine has no matrix registers")
BELOW = [path.value for path in isa.supported() if path is not Isa.AMX_INT8]
TRANSLATE = """
from cpunmt import Translator
from cpunmt.simd import isa
from tests.simd import matrix_state
print(isa.current().value, matrix_state.permitted())
for result in Translator(sys.argv[1]).translate(["A man is riding a bicycle.", "Two dogs."] * 8):
    print(result.text, result.score.hex())
"""


def run(code, name=None):
    return python("-c", f"import sys\n{code}", DIRECTORIES["int8"], CPUNMT_ISA=name)


def translated(code, name=None):
    """Returns (the message about the path, the translations) of a process that runs `code` first."""
    done = run(code + TRANSLATE, name)
    assert done.returncode == 0, done.stderr
    path, *texts = done.stdout.splitlines()
    assert len(texts) == 16
    return path, texts


@AMX
def test_where_linux_refuses_the_registers_the_next_path_is_taken():
    """Linux refuses them if a thread handles signals on too small a stack."""
    path, texts = translated(matrix_state.SMALL_STACK)
    assert path == f"{BELOW[0]} False"
    assert (f"{Isa.AMX_INT8.value} True", texts) == translated("")


@AMX
def test_one_error_says_that_linux_refuses_them():
    code = "from cpunmt.commands.cli import main\nsys.exit(main(['translate', '-m', sys.argv[1]]))"
    done = run(matrix_state.SMALL_STACK + code, "amx_int8")
    said = "CPUNMT_ISA='amx_int8': the operating system does not let this process use it; use one of:"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"cpunmt: error: {said} {', '.join(BELOW)}\n"


@AMX
@pytest.mark.parametrize("name", BELOW)
def test_who_chooses_another_path_is_not_asked_for_larger_signal_frames(name):
    assert translated("", name=name)[0] == f"{name} False"


@AMX
def test_the_permission_is_one_for_all_threads_and_children():
    code = "import threading, os\nfrom cpunmt.simd import isa\nfrom tests.simd.matrix_state import permitted\n"
    code += "print(permitted())\nthread = threading.Thread(target=isa.current)\nthread.start(); thread.join()\n"
    code += "print(permitted(), flush=True)\nchild = os.fork()\nprint(permitted(), flush=True)\nchild and os.wait()"
    assert run(code).stdout.split() == ["False", "True", "True", "True"]


def operands(rows, depth=192, panels=9):
    """Makes the operands of `multiply`."""
    q, weights = random_operands(rows, rows, depth, 16 * panels)
    row_scales, *vectors = random_scales(rows, rows, 16 * panels)
    return q, weights, AFFINE, *vectors, row_scales


@AMX
@pytest.mark.parametrize("rows", [1, 5, 16, 17, 32, 40, 97])
def test_a_product_gives_its_registers_up(program, rows):
    given = operands(rows)
    multiply(program, *given)
    assert not matrix_state.in_use()


@AMX
def test_registers_in_use_are_seen(program):
    """Shows that the test above can fail. Values left in the registers do not disturb a product either."""
    seen = []

    def run():
        matrix_state.configure()
        seen.append(matrix_state.in_use())
        seen.append(same_bits(multiply(program, *operands(40)), expected))
        seen.append(matrix_state.in_use())

    expected = multiply(program, *operands(40))
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [True, True, False]


def test_products_side_by_side_are_right(program):
    """Compiled calls run without Python's lock, each thread's on registers of other heights."""
    expected = {rows: multiply(program, *operands(rows)) for rows in (5, 16, 23, 32, 61, 97)}

    def wrong(number):
        every = [(5, 32), (16, 61), (23, 97)][number] * 60
        return [rows for rows in every if not same_bits(multiply(program, *operands(rows)), expected[rows])]

    assert in_threads(3, wrong) == [[]] * 3


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_multiplies(program):
    given = operands(40)
    expected = multiply(program, *given)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if same_bits(multiply(program, *given), expected) else 2)
        finally:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert same_bits(multiply(program, *given), expected)


@pytest.fixture
def long_product(program):
    """Returns a function that runs a product of milliseconds and returns its sums."""
    guard = Guards()
    q, weights = random_operands(1, 2000, 1024, 1024)
    record = int8_record(guard, weights, *np.ones((2, 1024), np.float32))
    rows, scales = guard.copy(stored_bytes(q)), guard.copy(np.ones((2000, 2), np.float32))

    def run():
        out = np.zeros((2000, 1024), np.int32)
        program.int8_linear(record, rows, scales, len(rows), out, INTEGERS, 0)
        assert guard  # owns the record's arrays
        return out

    return run


@pytest.fixture
def alarm():
    """`alarm(seconds, again)` schedules SIGALRM, once or repeatedly."""
    before = signal.getsignal(signal.SIGALRM)
    yield lambda seconds, again=0.0: signal.setitimer(signal.ITIMER_REAL, seconds, again)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_handler_multiplies_too(program, long_product, alarm):
    """Linux saves the registers in the signal's frame, and restores them."""
    given, made = operands(40), []
    small, expected = multiply(program, *given), long_product()

    def handler(*_):
        made.append(multiply(program, *given))
        alarm(1e-3)

    signal.signal(signal.SIGALRM, handler)
    alarm(1e-3)
    assert all(np.array_equal(long_product(), expected) for _ in range(100))
    assert len(made) > 10 and all(same_bits(product, small) for product in made)


@pytest.mark.slow
def test_signals_are_handled_on_the_stack_of_faulthandler(long_product, alarm, tmp_path):
    """Its size was chosen before larger frames were requested here."""
    expected = long_product()
    with open(tmp_path / "stacks", "w") as file:
        faulthandler.register(signal.SIGALRM, file, all_threads=False)
        try:
            alarm(1e-3, 1e-3)
            assert all(np.array_equal(long_product(), expected) for _ in range(100))
        finally:
            alarm(0)
            faulthandler.unregister(signal.SIGALRM)
    assert (tmp_path / "stacks").read_text("utf-8").count("most recent call first") > 10


@AMX
def test_a_faulthandler_that_was_there_before_is_no_obstacle():
    assert translated("import faulthandler\nfaulthandler.enable()\n")[0] == f"{Isa.AMX_INT8.value} True"
