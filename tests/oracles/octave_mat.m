% What Octave makes of MATLAB files, with a manifest as in mat_oracle.py: octave-cli -qf octave_mat.m make DIR
% Octave writes v6 (v5, not compressed) and v7 (v5, compressed).
1;

function dump_numbers(out, folder, file, name, value, count)
  for part = {{"f32", "single"}, {"f64", "double"}}
    f = fopen(fullfile(folder, sprintf("dump%d.%s", count, part{1}{1})), "wb", "ieee-le");
    fwrite(f, cast(value(:), part{1}{2}), part{1}{2});
    fclose(f);
  end
  kind = class(value);
  fprintf(out, "numbers\t%s\t%s\t%s\t%d\t%d\tdump%d\n", file, name, kind, rows(value), columns(value), count);
end

function make(folder)
  rand("twister", 5);
  x.features = single(rand(64, 900) * 4 - 2);
  x.doubles = rand(31, 17) * 1e9;
  x.integral = floor(rand(40, 30) * 200);
  x.wide_integral = floor(rand(4, 50) * 1e9) - 5e8;
  x.special = [NaN, Inf, -Inf, -0, 0.1];
  x.scalar = 3;
  x.empty = zeros(0, 4);
  x.flags = rand(5, 3) > 0.5;
  for t = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}
    x.(["a_" t{1}]) = cast(floor(rand(6, 7) * 100), t{1});
  end
  x.names = {"antelope"; "a"; "killer whale"; repmat("y", 1, 200)};
  x.grid = ["one  "; "three"];
  out = fopen(fullfile(folder, "manifest.tsv"), "w");
  count = 0;
  for version = {"v6", "v7"}
    file = ["octave_" version{1} ".mat"];
    save(["-" version{1}], fullfile(folder, file), "-struct", "x");
    back = load(fullfile(folder, file));
    for [value, name] = back
      if iscell(value) || ischar(value)
        kind = class(value);
        f = fopen(fullfile(folder, sprintf("dump%d.txt", count)), "wb");
        for line = cellstr(value)'
          fwrite(f, [double(line{1}), 0]);
        end
        fclose(f);
        fprintf(out, "strings\t%s\t%s\t%s\t%d\t%d\tdump%d\n", file, name, kind, rows(value), columns(value), count);
      else
        dump_numbers(out, folder, file, name, value, count);
      end
      count++;
    end
  end
  fclose(out);
end

arguments = argv();
feval(arguments{1}, arguments{2});
