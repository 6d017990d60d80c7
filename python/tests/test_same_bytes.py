import pytest
from same_bytes import assert_same_bytes


def test_a_failure_tells_sizes_and_offset_and_nothing_of_the_contents(tmp_path):
    (tmp_path / "a").write_bytes(b"weights")
    assert_same_bytes(tmp_path / "a", b"weights", tmp_path / "a")
    with pytest.raises(pytest.fail.Exception) as failed:
        assert_same_bytes(tmp_path / "a", b"weights", b"weird")
    assert str(failed.value) == "1 and 3: 7 and 5 bytes, different from offset 3 on"
    with pytest.raises(pytest.fail.Exception, match="different from offset 6 on"):
        assert_same_bytes(b"weight", b"weights")
