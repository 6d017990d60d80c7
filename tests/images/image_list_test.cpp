#include "images/image_list.hpp"

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "expect.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

void touch(const fs::path& file) {
  fs::create_directories(file.parent_path());
  write_text_file(file, "x");
}

Names names_of(const ImageList& list) {
  Names names;
  for (const auto& image : list.images) names.push_back(image.name + "=" + image.class_name);
  return names;
}

std::string list_refusal(const std::vector<fs::path>& places, const fs::path& labels = {}) {
  return bad_input_message([&] { list_images(places, labels); });
}

}  // namespace

TEST(ImageList, ClassesAreTheFirstFolders) {
  TempDir dir;
  for (const char* name : {"b/2.JPG", "b/deep/er/1.jpeg", "a/x.WebP", "a/y.bmp", "a/z.Png", "a/notes.txt", "a/.z.png",
                           ".hidden/1.png", "readme.md"})
    touch(dir / name);
  fs::create_directories(dir / "nothing");
  for (const auto& place : {dir.path(), dir.path() / "", fs::path(dir.path().string() + "/a/..")}) {
    const ImageList list = list_images({place});
    EXPECT_EQ(names_of(list), (Names{"a/x.WebP=a", "a/y.bmp=a", "a/z.Png=a", "b/2.JPG=b", "b/deep/er/1.jpeg=b"}))
        << place;
    EXPECT_EQ(list.class_names, (Names{"a", "b"}));
    EXPECT_EQ(list.empty_folders, Names{"nothing"});
    for (const auto& image : list.images) EXPECT_TRUE(fs::is_regular_file(image.file)) << image.file;
  }
}

TEST(ImageList, LinksToFoldersAreFollowed) {
  TempDir dir;
  for (const char* name : {"store/cats/1.png", "store/cats/deep/2.png", "photos/dog/3.png"}) touch(dir / name);
  fs::create_directory_symlink(dir / "store/cats", dir / "photos/cat");
  fs::create_directory_symlink("../../store/cats/deep", dir / "photos/dog/more");
  fs::create_directory_symlink("cat", dir / "photos/kitten");  // the same photographs under a second name
  fs::create_directory_symlink("nowhere", dir / "photos/gone");
  EXPECT_EQ(names_of(list_images({dir / "photos"})),
            (Names{"cat/1.png=cat", "cat/deep/2.png=cat", "dog/3.png=dog", "dog/more/2.png=dog", "kitten/1.png=kitten",
                   "kitten/deep/2.png=kitten"}));
  fs::create_directory_symlink(dir / "photos", dir / "all");
  EXPECT_EQ(list_images({dir / "all"}).images.size(), 6u);
}

TEST(ImageList, LinksInACircleEnd) {
  TempDir dir;
  for (const char* name : {"photos/a/1.png", "photos/a/z/2.png", "photos/b/3.png"}) touch(dir / name);
  fs::create_directory_symlink("..", dir / "photos/a/up");
  fs::create_directory_symlink(".", dir / "photos/a/self");
  fs::create_directory_symlink("z", dir / "photos/a/again");  // the folder itself comes first
  fs::create_directory_symlink(".", dir / "photos/root");
  fs::create_directory_symlink("../../b", dir / "photos/a/z/b");
  fs::create_directory_symlink("../a", dir / "photos/b/a");
  fs::create_symlink("loop.png", dir / "photos/a/loop.png");
  fs::create_symlink("gone.png", dir / "photos/b/0.png");
  const ImageList list = list_images({dir / "photos"});
  EXPECT_EQ(names_of(list),
            (Names{"a/1.png=a", "a/z/2.png=a", "a/z/b/3.png=a", "b/3.png=b", "b/a/1.png=b", "b/a/z/2.png=b"}));
  EXPECT_TRUE(list.empty_folders.empty());
  EXPECT_EQ(list.broken_links, (Names{"a/loop.png", "a/z/b/0.png", "b/0.png", "b/a/loop.png"}));
  EXPECT_TRUE(list.other_files.empty());
  EXPECT_MENTIONS(list_refusal({dir / "photos/b/0.png"}), "found a broken link");
}

TEST(ImageList, FilesAndSeveralFoldersKeepTheirPaths) {
  TempDir dir;
  for (const char* name : {"one/a/1.png", "two/a/1.png", "3.jpg"}) touch(dir / name);
  const std::string root = dir.path().string();
  const ImageList files = list_images({dir / "3.jpg"});
  EXPECT_EQ(names_of(files), Names{root + "/3.jpg="});
  EXPECT_TRUE(files.class_names.empty());
  EXPECT_EQ(names_of(list_images({dir / "two", dir / "one", dir / "one"})),
            (Names{root + "/one/a/1.png=a", root + "/two/a/1.png=a"}));
  EXPECT_EQ(names_of(list_images({root + "/./3.jpg", root + "/3.jpg"})), Names{root + "/./3.jpg="}) << "as given, once";
}

TEST(ImageList, OverlappingPlacesGiveAnImageOneClass) {
  TempDir dir;
  for (int i = 0; i < 100; ++i) touch(dir / "big" / (i % 2 == 0 ? "a" : "b") / (std::to_string(i) + ".png"));
  for (const auto& places : {std::vector{dir / "big", dir / "big/a"}, std::vector{dir / "big/a", dir / "big"}}) {
    const ImageList list = list_images(places);
    EXPECT_EQ(list.images.size(), 100u);
    EXPECT_EQ(list.class_names, (Names{"a", "b"}));
  }
  touch(dir / "big/a/x/1.png");
  EXPECT_MENTIONS(list_refusal({dir / "big", dir / "big/a"}), "'a' and 'x'");
  EXPECT_EQ(find_images({dir / "big", dir / "big/a"}).images.size(), 101u);
}

TEST(ImageList, LabelsOfATable) {
  TempDir dir;
  for (const char* name : {"p/1.png", "p/2.png", "q/1.png"}) touch(dir / name);
  fs::create_directories(dir / "empty");
  write_text_file(dir / "labels.csv", "class,file\nfox,p/1.png\n\"a, b\",./p/2.png\nfox,q/1.png\nfox,gone.png\n");
  const ImageList list = list_images({dir.path()}, dir / "labels.csv");
  EXPECT_EQ(names_of(list), (Names{"p/1.png=fox", "p/2.png=a, b", "q/1.png=fox"}));
  EXPECT_EQ(list.class_names, (Names{"a, b", "fox"}));
  EXPECT_EQ(list.unused_labels, Names{"gone.png"});
  EXPECT_EQ(describe_other_files(list), "1 file (1 .csv)") << "labels.csv";
  EXPECT_TRUE(list.empty_folders.empty());
}

TEST(ImageList, LabelsOfSomeImagesByAsMuchOfTheirPathsAsTellsThemApart) {
  TempDir dir;
  for (const char* name : {"p/1.png", "p/2.png", "q/1.png", "q/3.png"}) touch(dir / name);
  const auto csv = [&](const std::string& rows) {
    write_text_file(dir / "labels.csv", "file,class\n" + rows);
    return dir / "labels.csv";
  };
  const ImageList some = list_images({dir / "p", dir / "q"}, csv("2.png,fox\nq/1.png,owl\n"));
  EXPECT_EQ(names_of(some), (Names{(dir / "p/2.png").string() + "=fox", (dir / "q/1.png").string() + "=owl"}));
  EXPECT_EQ(some.unlabelled, (Names{(dir / "p/1.png").string(), (dir / "q/3.png").string()}));
  EXPECT_TRUE(some.unused_labels.empty());
  const auto longer = csv((dir / "p/1.png").string() + ",fox\nq/2.png,owl\n");
  EXPECT_EQ(names_of(list_images({dir / "p"}, longer)), Names{"1.png=fox"}) << "q/2.png is not p/2.png";
  EXPECT_EQ(list_images({dir / "p"}, longer).unused_labels, Names{"q/2.png"});
  const auto from_here = csv(fs::relative(dir / "p").string() + "/../p/1.png,fox\n");
  EXPECT_EQ(names_of(list_images({dir / "p"}, from_here)), Names{"1.png=fox"}) << "as seen from the current folder";
  EXPECT_MENTIONS(list_refusal({dir.path()}, csv("1.png,fox\n")),
                  "'1.png', which may be '" + (dir / "p/1.png").string() + "' or '" + (dir / "q/1.png").string() + "'");
  EXPECT_MENTIONS(list_refusal({dir.path()}, csv("p/1.png,fox\n./p/1.png,owl\n")), "'fox' and 'owl'");
}

TEST(ImageList, OtherFilesAreCountedByTheirEndings) {
  TempDir dir;
  for (const char* name : {"p/1.png", "p/2.JPG", "p/3.jfif", "p/4.jpe", "p/5.jif"}) touch(dir / name);
  EXPECT_EQ(describe_other_files(list_images({dir.path()})), "");
  for (const char* name : {"p/2.JPG", "p/3.jfif", "p/4.jpe", "p/5.jif"}) fs::remove(dir / name);
  for (const char* name : {"p/a.HEIC", "p/b.heic", "p/c.tif", "README", "p/d.\xff", "p/.hidden"}) touch(dir / name);
  EXPECT_EQ(describe_other_files(list_images({dir.path()})), "5 files (2 .heic, 2 other, 1 .tif)");
  for (const char* name : {"x.a", "x.b", "x.c", "x.d"}) touch(dir / name);
  EXPECT_EQ(describe_other_files(list_images({dir.path()})), "9 files (2 .heic, 2 other, 1 .a, 1 .b, 1 .c, …)");
  fs::remove(dir / "p/1.png");
  EXPECT_MENTIONS(list_refusal({dir / "p"}), "found none among 4 files (2 .heic, ");
}

TEST(ImageList, ProblemsAreNamed) {
  TempDir dir;
  touch(dir / "a/1.png");
  touch(dir / "a/2.png");
  fs::create_directories(dir / "empty");
  const auto csv = [&](const std::string& text) {
    write_text_file(dir / "labels.csv", text);
    return list_refusal({dir.path()}, dir / "labels.csv");
  };
  EXPECT_MENTIONS(csv("file,label\n"), "'file' and 'class'");
  EXPECT_MENTIONS(csv("file,class\nb/1.png,x\n"), "none of the 2 images, such as 'a/1.png'");
  EXPECT_MENTIONS(csv("file,class\na/1.png,x\na/1.png,y\n"), "'x' and 'y'");
  EXPECT_MENTIONS(csv("file,class\na/1.png,\n"), "class: expected a class name, found an empty cell");
  EXPECT_MENTIONS(csv("file,class\n,x\n"), "file: expected the name of an image, found an empty cell");
  EXPECT_MENTIONS(list_refusal({dir / "none"}), "no such file");
  EXPECT_MENTIONS(list_refusal({dir / "empty"}), ".webp");
  touch(dir / "bare.png");
  EXPECT_MENTIONS(list_refusal({dir.path()}), "bare.png: class");
  fs::remove(dir / "bare.png");
  touch(dir / "a/\xff\xfe.png");
  EXPECT_MENTIONS(list_refusal({dir.path()}), "UTF-8");
}

}  // namespace parsnets::test
